# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kvcache program that asks a collection everything that an oracle file may
answer: on the device through kernels that take the cache and its operands, on
the host through the same lookups."""
import numpy as np

THREADS = 128

# What the kernels write: 64-bit words for every element, for every row, and
# once; and floats for every element.
ELEMENTS = ["block_paged_ptr of the plain operand", "block_paged_ptr of the cache"]
SCALE_ELEMENTS = ["block_paged_ptr of the scales operand",
                  "scales_block_paged_ptr of the cache",
                  "scales_block_paged_ptr of the plain operand"]
ROWS = ["row_idx of the plain operand", "row_idx of the cache",
        "block_row_idx, block", "block_row_idx, row", "row_idx on the host"]
SCALE_ROWS = ["row_idx of the scales operand", "row_idx of the scales on the host"]
# Where the file has all tokens.
POPULATED, POPULATED_SCALES = ["populate of the plain operand",
                               "populate of the scales operand"]
SCALARS = ["num_kv_rows", "max_context_length", "max_prompt_length",
           "empty_cache"]
SCALE_SCALARS = ["scales num_kv_rows"]
FLOATS = ["load", "load_scale of the cache", "load_scale of the plain operand"]
# Where the file has all elements.
VECTORS = ["load of a vector"]


def divisor(number, limit, step):
    """The largest of 1, step, step^2, ... (step 2) or 1, 2, 3, ... (step 1) that
    divides `number`, at most `limit`."""
    tried = ([2**n for n in range(limit.bit_length())] if step == 2
             else range(1, limit + 1))
    return max(n for n in tried if n <= limit and number % n == 0)


class Program:
    """IR text and the arrays that go with it."""

    def __init__(self, file):
        self.file = file
        self.at = {name: indices for name, indices in file.indices.items()}
        self.count = {name: len(indices) for name, indices in self.at.items()}
        self.elements = ELEMENTS + (SCALE_ELEMENTS if file.has_scales else [])
        self.rows = ROWS + (SCALE_ROWS if file.has_scales else [])
        all_tokens = np.array_equal(self.at["token"],
                                    np.arange(self.count["token"]))
        self.populated = divisor(file.P, 16, 1) if all_tokens else 0
        if self.populated:
            self.rows = self.rows + [POPULATED] + (
                [POPULATED_SCALES] if file.has_scales else [])
        self.scalars = SCALARS + (SCALE_SCALARS if file.has_scales else [])
        self.floats = (FLOATS if file.has_scales and file.needs_memory else [])
        self.lanes = (divisor(file.D, 32, 2)
                      if self.floats and self.count["dim"] == file.D else 1)
        if self.lanes > 1:
            self.floats = self.floats + VECTORS
        # A thread each.
        self.threads = np.prod([self.count[name] for name in
                                ("batch", "token", "head", "dim")])
        self.row_threads = self.count["batch"] * self.count["token"]
        self.sides = self.count["kv"] * self.count["layer"]

    # Types.

    def layout(self):
        file = self.file
        mla = ", is_mla = true" if file.is_mla else ""
        table = ", table = own" if file.own_table else ""
        scales = (f", scales = <{file.scale_dtype.mlir}, granularity = {file.g}"
                  f"{table}>" if file.has_scales else "")
        return (f"#kvcache.layout<{file.dtype.mlir}, params = <num_heads = "
                f"{file.H}, head_size = {file.D}{mla}>, page_size = {file.P}"
                f"{scales}>")

    def pool(self, name):
        """A pool's flat and shaped memref types, and how one is made of the
        other. Packed pools have a dynamic number of blocks and layers, padded
        ones a static pitch."""
        file = self.file
        dtype, blocks, pitch, last = (
            (file.dtype, file.NB, file.pitch, file.D) if name == "values" else
            (file.scale_dtype, file.NBs, file.scales_pitch, file.G))
        flat = f"memref<{file.pool_elements(name)}x{dtype.mlir}>"
        inner = [file.P * file.H * last, file.H * last, last, 1]
        packed = file.KD * file.L * inner[0]
        if pitch == packed:
            shaped = (f"memref<?x{file.KD}x?x{file.P}x{file.H}x{last}x"
                      f"{dtype.mlir}>")
            sizes = ["%blocks_" + name, file.KD, "%layers", file.P, file.H, last]
            strides = ["%pitch_" + name, "%side_" + name] + inner
        else:
            sizes = [blocks, file.KD, file.L, file.P, file.H, last]
            strides = [pitch, file.L * inner[0]] + inner
            shaped = (f"memref<{'x'.join(map(str, sizes))}x{dtype.mlir}, "
                      f"strided<[{', '.join(map(str, strides))}]>>")
        text = lambda values: ", ".join(map(str, values))
        code = f"""
    %blocks_{name} = arith.constant {blocks} : index
    %pitch_{name} = arith.constant {pitch} : index
    %side_{name} = arith.constant {file.L * inner[0]} : index
    %pool_{name} = memref.reinterpret_cast %{name} to offset: [0], sizes: [{text(sizes)}], strides: [{text(strides)}] : {flat} to {shaped}"""
        return flat, shaped, code

    # The kernel of one side.

    def _address(self, n, view, view_type, is_scale):
        """Stores, as number n, the distance in bytes of a view from the base of
        its pool."""
        dtype = self.file.scale_dtype if is_scale else self.file.dtype
        element = dtype.mlir
        base = "%scale_pool" if is_scale else "%values"
        return f"""
      %b{n}, %o{n}, %s{n}:2, %t{n}:2 = memref.extract_strided_metadata {view} : {view_type} -> memref<{element}>, index, index, index, index, index
      %p{n} = memref.extract_aligned_pointer_as_index %b{n} : memref<{element}> -> index
      %e{n} = arith.constant {dtype.bytes} : index
      %m{n} = arith.muli %o{n}, %e{n} : index
      %a{n} = arith.addi %p{n}, %m{n} : index
      %d{n} = arith.subi %a{n}, {base}_address : index
      %w{n} = arith.index_cast %d{n} : index to i64
      %k{n} = arith.constant {n} : index
      memref.store %w{n}, %elements[%k{n}, %out] : {self.elements_type}"""

    def kernel(self, side):
        file = self.file
        cache = f"!kvcache.cache<{side}, #kv>"
        plain = f"!kvcache.mha_operand<{side}, #kv>"
        scales = f"!kvcache.scales_mha_operand<{side}, #kv>"
        row = file.H * file.D
        view = f"memref<1x1x{file.dtype.mlir}, strided<[{row}, 1], offset: ?>>"
        position = "[%b, %t, %h, %d]"
        body = []
        sources = [("%plain", plain, "block_paged_ptr", view, False),
                   ("%cache", cache, "block_paged_ptr", view, False)]
        if file.has_scales:
            scale_view = (f"memref<1x1x{file.scale_dtype.mlir}, strided<"
                          f"[{file.H * file.G}, 1], offset: ?>>")
            sources += [
                ("%scales", scales, "block_paged_ptr", scale_view, True),
                ("%cache", cache, "scales_block_paged_ptr", scale_view, True),
                ("%plain", plain, "scales_block_paged_ptr", scale_view, True)]
        for n, (source, type_, op, view_type, is_scale) in enumerate(sources):
            body.append(f"""
      %v{n} = kvcache.{op} {source}{position} : {type_} -> {view_type}"""
                        + self._address(n, f"%v{n}", view_type, is_scale))
        if self.floats:
            loads = [("load", "%cache", cache), ("load_scale", "%cache", cache),
                     ("load_scale trap", "%plain", plain)]
            for n, (op, source, type_) in enumerate(loads):
                body.append(f"""
      %f{n} = kvcache.{op} {source}{position} : {type_} -> f32
      %fk{n} = arith.constant {n} : index
      memref.store %f{n}, %floats[%fk{n}, %out] : {self.floats_type}""")
        if self.lanes > 1:
            vector = f"vector<{self.lanes}xf32>"
            body.append(f"""
      %lanes = arith.constant {self.lanes} : index
      %lane = arith.remui %d, %lanes : index
      %is_vector = arith.cmpi eq, %lane, %zero : index
      scf.if %is_vector {{
        %vector = kvcache.load %plain{position} : {plain} -> {vector}
        %vk = arith.constant {self.floats.index(VECTORS[0])} : index
        vector.store %vector, %floats[%vk, %out] : {self.floats_type}, {vector}
      }}""")
        if file.needs_memory:
            body.append(f"""
      %code = kvcache.load_quantized %plain{position} : {plain} -> {file.dtype.mlir}
      memref.store %code, %codes[%out] : {self.codes_type}""")

        rows = [f"%r0 = kvcache.row_idx %plain[%b, %t] : {plain}",
                f"%r1 = kvcache.row_idx %cache[%b, %t] : {cache}",
                f"%r2, %r3 = kvcache.block_row_idx %plain[%b, %t] : {plain}"]
        stored = ["%r0", "%r1", "%r2", "%r3"]
        slots = [0, 1, 2, 3]
        if file.has_scales:
            rows.append(f"%r5 = kvcache.row_idx %scales[%b, %t] : {scales}")
            stored.append("%r5")
            slots.append(len(ROWS))
        scalars = [f"%c0 = kvcache.num_kv_rows %plain : {plain}",
                   f"%c1 = kvcache.max_context_length %cache : {cache}",
                   f"%c2 = kvcache.max_prompt_length %cache : {cache}",
                   f"%e = kvcache.empty_cache %cache : {cache}",
                   "%c3 = arith.index_castui %e : i1 to index"]
        if file.has_scales:
            scalars.append(f"%c4 = kvcache.num_kv_rows %scales : {scales}")
        scales_argument = f", %scales: {scales}" if file.has_scales else ""
        return f"""
  gpu.func @ask_{side}(%cache: {cache}, %plain: {plain}{scales_argument}{self.kernel_arguments()}, %side: index) kernel attributes {{known_block_size = array<i32: {THREADS}, 1, 1>}} {{
    %thread = gpu.thread_id x
    %block = gpu.block_id x
    %width = arith.constant {THREADS} : index
    %first = arith.muli %block, %width : index
    %id = arith.addi %first, %thread : index
    %threads = arith.constant {self.threads} : index
    %live = arith.cmpi ult, %id, %threads : index
    %values_address = memref.extract_aligned_pointer_as_index %values : {self.pool("values")[0]} -> index
    {"%scale_pool_address = memref.extract_aligned_pointer_as_index %scale_pool : " + self.pool("scales")[0] + " -> index" if file.has_scales else ""}
    scf.if %live {{
      %nd = arith.constant {self.count["dim"]} : index
      %nh = arith.constant {self.count["head"]} : index
      %nt = arith.constant {self.count["token"]} : index
      %zero = arith.constant 0 : index
      %id_h = arith.divui %id, %nd : index
      %id_t = arith.divui %id_h, %nh : index
      %id_b = arith.divui %id_t, %nt : index
      %i_d = arith.remui %id, %nd : index
      %i_h = arith.remui %id_h, %nh : index
      %i_t = arith.remui %id_t, %nt : index
      {self._index("b", "batch", "%id_b")}
      {self._index("t", "token", "%i_t")}
      {self._index("h", "head", "%i_h")}
      {self._index("d", "dim", "%i_d")}
      %out_first = arith.muli %side, %threads : index
      %out = arith.addi %out_first, %id : index
      {"".join(body)}
      // Once a row, once a sequence, and once.
      %i_hd = arith.ori %i_h, %i_d : index
      %is_row = arith.cmpi eq, %i_hd, %zero : index
      scf.if %is_row {{
        %rows_a_side = arith.constant {self.row_threads} : index
        %row_first = arith.muli %side, %rows_a_side : index
        %row_out = arith.addi %row_first, %id_t : index
        {self._stores(rows, stored, slots, "rows", "row_out", self.rows_type)}
        {self._populate(plain, scales)}
        %is_sequence = arith.cmpi eq, %i_t, %zero : index
        scf.if %is_sequence {{
          %length = kvcache.cache_length %cache[%b] : {cache}
          %length64 = arith.index_cast %length : index to i64
          %batches = arith.constant {self.count["batch"]} : index
          %sequence_first = arith.muli %side, %batches : index
          %sequence_out = arith.addi %sequence_first, %id_b : index
          memref.store %length64, %lengths_out[%sequence_out] : {self.lengths_type}
          %is_first = arith.cmpi eq, %id_b, %zero : index
          scf.if %is_first {{
            {self._stores(scalars, [f"%c{n}" for n in range(len(self.scalars))], range(len(self.scalars)), "scalars", "side", self.scalars_type)}
          }}
        }}
      }}
    }}
    gpu.return
  }}"""

    def _populate(self, plain, scales):
        """Rows of consecutive tokens by one operation."""
        if not self.populated:
            return ""
        count = self.populated
        sources = [("%plain", plain, POPULATED)]
        if self.file.has_scales:
            sources.append(("%scales", scales, POPULATED_SCALES))
        code = []
        for n, (source, type_, what) in enumerate(sources):
            code.append(f"""
          %many{n} = kvcache.populate {source}[%b, %t] : {type_} -> vector<{count}xindex>
          %pk{n} = arith.constant {self.rows.index(what)} : index""")
            for lane in range(count):
                at = f"{n}_{lane}"
                code.append(f"""
          %lane{at} = arith.constant {lane} : index
          %token{at} = arith.addi %t, %lane{at} : index
          %there{at} = arith.cmpi ult, %token{at}, %nt : index
          scf.if %there{at} {{
            %r{at} = vector.extract %many{n}[{lane}] : index from vector<{count}xindex>
            %w{at} = arith.index_cast %r{at} : index to i64
            %out{at} = arith.addi %row_out, %lane{at} : index
            memref.store %w{at}, %rows[%pk{n}, %out{at}] : {self.rows_type}
          }}""")
        return f"""
        %populated = arith.constant {count} : index
        %behind = arith.remui %t, %populated : index
        %begins = arith.cmpi eq, %behind, %zero : index
        scf.if %begins {{{"".join(code)}
        }}"""

    def _index(self, name, axis, position):
        type_ = f"memref<{self.count[axis]}xi32>"
        return (f"%{name}32 = memref.load %at_{axis}[{position}] : {type_}\n"
                f"      %{name} = arith.index_castui %{name}32 : i32 to index")

    def _stores(self, code, values, slots, target, at, type_):
        lines = list(code)
        for value, slot in zip(values, slots):
            n = value[1:]
            lines += [f"%{n}_64 = arith.index_cast {value} : index to i64",
                      f"%{n}_slot = arith.constant {slot} : index",
                      f"memref.store %{n}_64, %{target}[%{n}_slot, %{at}] : "
                      f"{type_}"]
        return "\n        ".join(lines)

    # Arguments, of kernels and of the program.

    def _define_types(self):
        sides = self.sides
        self.elements_type = (f"memref<{len(self.elements)}x"
                              f"{sides * self.threads}xi64>")
        self.rows_type = f"memref<{len(self.rows)}x{sides * self.row_threads}xi64>"
        self.lengths_type = f"memref<{sides * self.count['batch']}xi64>"
        self.scalars_type = f"memref<{len(self.scalars)}x{sides}xi64>"
        self.floats_type = (f"memref<{max(len(self.floats), 1)}x"
                            f"{sides * self.threads}xf32>")
        self.codes_type = f"memref<{sides * self.threads}x{self.file.dtype.mlir}>"

    def _passed(self):
        """Name and type of what kernels take beside cache and operands."""
        passed = [("values", self.pool("values")[0])]
        if self.file.has_scales:
            passed.append(("scale_pool", self.pool("scales")[0]))
        passed += [(f"at_{axis}", f"memref<{self.count[axis]}xi32>")
                   for axis in ("batch", "token", "head", "dim")]
        return passed + [("elements", self.elements_type),
                         ("rows", self.rows_type),
                         ("lengths_out", self.lengths_type),
                         ("scalars", self.scalars_type),
                         ("floats", self.floats_type),
                         ("codes", self.codes_type)]

    def kernel_arguments(self):
        return "".join(f", %{name}: {type_}" for name, type_ in self._passed())

    def arguments(self):
        """Name, type and array of each of main's arguments, in order."""
        file = self.file
        sides, threads = self.sides, int(self.threads)
        poison = lambda *shape: np.full(shape, -0x0F0F0F0F0F0F0F0F, np.int64)
        result = [("values", self.pool("values")[0], file.fill("values"))]
        if file.has_scales:
            result.append(("scales", self.pool("scales")[0], file.fill("scales")))
        lists = [("lengths", file.lengths), ("table", file.table),
                 ("max_prompt", [file.max_prompt]),
                 ("max_cache", [file.max_cache])]
        if file.own_table:
            lists.append(("scales_table", file.scales_table))
        lists += [(f"at_{axis}", self.at[axis])
                  for axis in ("layer", "batch", "token", "head", "dim")]
        for name, values in lists:
            array = np.array(values, np.uint32)
            result.append((name, f"memref<{'x'.join(map(str, array.shape))}xi32>",
                           array))
        return result + [
            ("elements", self.elements_type,
             poison(len(self.elements), sides * threads)),
            ("rows", self.rows_type,
             poison(len(self.rows), sides * self.row_threads)),
            ("lengths_out", self.lengths_type,
             poison(sides * self.count["batch"])),
            ("scalars", self.scalars_type, poison(len(self.scalars), sides)),
            ("floats", self.floats_type,
             np.full((max(len(self.floats), 1), sides * threads), np.nan,
                     np.float32)),
            ("codes", self.codes_type,
             np.full(sides * threads, 0x5A, np.uint8).astype(file.dtype.storage)),
        ]

    def outputs(self):
        return ["elements", "rows", "lengths_out", "scalars", "floats", "codes"]

    # The whole.

    def _launch(self, side, position):
        file = self.file
        cache, plain = f"!kvcache.cache<{side}, #kv>", f"!kvcache.mha_operand<{side}, #kv>"
        scales = f"!kvcache.scales_mha_operand<{side}, #kv>"
        passed = "".join(
            f", %{'scales' if name == 'scale_pool' else name} : {type_}"
            for name, type_ in self._passed())
        operand = f", %so_{side} : {scales}" if file.has_scales else ""
        make = (f"%so_{side} = kvcache.scales_mha_operand %k_{side} : {cache}"
                if file.has_scales else "")
        host_scales = (f"""
          %hs = kvcache.row_idx %so_{side}[%b, %t] : {scales}
          %hs64 = arith.index_cast %hs : index to i64
          %hs_slot = arith.constant {len(ROWS) + 1} : index
          memref.store %hs64, %rows[%hs_slot, %row_out] : {self.rows_type}"""
                       if file.has_scales else "")
        return f"""
      %k_{side} = kvcache.get_{side}_cache %collection[%layer] : !kvcache.collection<#kv>
      %po_{side} = kvcache.mha_operand %k_{side} : {cache}
      {make}
      %position_{side} = arith.constant {position} : index
      %kv_{side} = arith.muli %position_{side}, %num_layers : index
      %side_{side} = arith.addi %kv_{side}, %i : index
      gpu.launch_func @kernels::@ask_{side} blocks in (%grid, %one, %one) threads in (%width, %one, %one)
        args(%k_{side} : {cache}, %po_{side} : {plain}{operand}{passed}, %side_{side} : index)
      scf.for %ib = %zero to %num_batch step %one {{
        scf.for %it = %zero to %num_token step %one {{
          {self._index("b", "batch", "%ib")}
          {self._index("t", "token", "%it")}
          %row_a = arith.muli %side_{side}, %num_batch : index
          %row_b = arith.addi %row_a, %ib : index
          %row_c = arith.muli %row_b, %num_token : index
          %row_out = arith.addi %row_c, %it : index
          %hr = kvcache.row_idx %po_{side}[%b, %t] : {plain}
          %hr64 = arith.index_cast %hr : index to i64
          %hr_slot = arith.constant {ROWS.index("row_idx on the host")} : index
          memref.store %hr64, %rows[%hr_slot, %row_out] : {self.rows_type}{host_scales}
        }}
      }}"""

    def text(self):
        self._define_types()
        file = self.file
        _, values_type, make_values = self.pool("values")
        make_scales, scales_operand = "", ""
        if file.has_scales:
            _, scales_type, make_scales = self.pool("scales")
            scales_operand = f" scales(%pool_scales : {scales_type})"
        table_type = f"memref<{file.B}x{file.M}xi32>"
        if file.own_table:
            scales_operand += f" scales_table(%scales_table : {table_type})"
        sides = [("key", "value")[kv] for kv in self.at["kv"]]
        arguments = self.arguments()
        registered = "".join(f"""
    %{name}_any = memref.cast %{name} : {type_} to memref<*x{type_.rsplit('x', 1)[1].rstrip('>')}>
    gpu.host_register %{name}_any : memref<*x{type_.rsplit('x', 1)[1].rstrip('>')}>"""
                             for name, type_, _ in arguments)
        constants = "".join(
            f"\n    %num_{name} = arith.constant {self.count[axis]} : index"
            for name, axis in (("layers", "layer"), ("batch", "batch"),
                               ("token", "token")))
        return f"""#kv = {self.layout()}
module attributes {{gpu.container_module}} {{
gpu.module @kernels {{{"".join(map(self.kernel, sides))}
}}
  func.func @main({", ".join(f"%{name}: {type_}" for name, type_, _ in arguments)}) {{
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %width = arith.constant {THREADS} : index
    %grid = arith.constant {-(-int(self.threads) // THREADS)} : index
    %layers = arith.constant {file.L} : index{constants}{registered}{make_values}{make_scales}
    %collection = kvcache.get_paged_cache blocks(%pool_values : {values_type})
        lengths(%lengths : memref<{file.B}xi32>) table(%table : {table_type})
        max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>){scales_operand}
        : !kvcache.collection<#kv>
    scf.for %i = %zero to %num_layers step %one {{
      {self._index("layer", "layer", "%i")}{"".join(self._launch(side, n) for n, side in enumerate(sides))}
    }}
    return
  }}
}}
"""

// RUN: not kvcache-opt --kvcache-explain-layout="token=-1 table=3" %s 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not kvcache-opt --kvcache-explain-layout="table=9,2" %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not kvcache-opt --kvcache-explain-layout="scales-table=4" %s 2>&1 | FileCheck %s --check-prefix=NONE-OF-SCALES
// RUN: not kvcache-opt --kvcache-explain-layout="token=1 table=9 scales-table=4" %s 2>&1 | FileCheck %s --check-prefix=SHARED
// RUN: kvcache-opt --kvcache-explain-layout="layers=1000000000" %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not kvcache-opt --kvcache-explain-layout="layers=1000000000 token=0 table=3" %s 2>&1 | FileCheck %s --check-prefix=PLACES
// RUN: kvcache-opt --kvcache-explain-layout="token=0,9 table=3,5" %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=TWO

// RUN: kvcache-opt --kvcache-explain-layout="batch=1 token=9 table=3,5;8,6" %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not kvcache-opt --kvcache-explain-layout="batch=2 token=9 table=3,5;8,6" %s 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not kvcache-opt --kvcache-explain-layout="token=9 table=3,x" %s 2>&1 | FileCheck %s --check-prefix=WORD

// BATCH: token 9: page 1, slot 1, block 6
// ROWS: error: expected a batch of 0 to 1, the rows of 'table', got 2
// WORD: error: expected 'table' to be block ids parted by commas, and rows by semicolons, got 'x' in '3,x'
// NEGATIVE: error: expected a token of at least 0, got -1
// NONE: error: expected a token with a table, got none; add token=
// NONE-OF-SCALES: error: expected a token with a table, got none; add token=
// SHARED: error: expected no table of scales, got one of 1 pages; the layout does not say 'table = own'
// MANY: ... 999999997 more of 2048 bytes
// PLACES: error: expected a token of at most 1048576 places, got 1000000000 layers of 2 sides, 2 heads and 0 scales a head; name fewer layers
// TWO: token 0: page 0, slot 0, block 3
// TWO: token 9: page 1, slot 1, block 5

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 8>
func.func private @a(!kvcache.collection<#kv>)

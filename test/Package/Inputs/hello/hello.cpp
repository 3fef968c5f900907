// Compiles a kernel of the kvcache dialect to PTX.
#include "kvcache/InitAll.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

static const char *const program = R"mlir(
#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
gpu.module @hello {
  gpu.func @first(%k: !kvcache.cache<key, #kv>, %out: memref<1xf32>) kernel {
    %c0 = arith.constant 0 : index
    %x = kvcache.load %k[%c0, %c0, %c0, %c0] : !kvcache.cache<key, #kv> -> f32
    memref.store %x, %out[%c0] : memref<1xf32>
    gpu.return
  }
})mlir";

int main() {
  mlir::DialectRegistry registry;
  mlir::kvcache::registerAllDialects(registry);
  registry.insert<mlir::gpu::GPUDialect>();
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(program, &context);
  mlir::PassManager pipeline(&context);
  mlir::kvcache::KVCacheToPTXOptions options;
  options.chips = {"sm_90a"};
  mlir::kvcache::buildKVCacheToPTXPipeline(pipeline, options);
  if (!module || mlir::failed(pipeline.run(*module)))
    return 1;
  module->walk([](mlir::gpu::BinaryOp binary) {
    for (auto object : binary.getObjects().getAsRange<mlir::gpu::ObjectAttr>())
      llvm::outs() << object.getObject().getValue();
  });
  return 0;
}

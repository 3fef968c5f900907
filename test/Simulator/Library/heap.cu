// new, delete, malloc and free as nvcc compiles them.
//
// REQUIRES: nvcc
// RUN: %nvcc -ptx -arch=sm_80 -o %t.ptx %s
// RUN: ptxsim %t.ptx --kernel k --grid 1 --block 4 --tool all --arg out:-=s32[4] 2>&1 | \
// RUN:   FileCheck %s
// CHECK: 0 findings
// CHECK-NEXT: s32[4]: 55 65 75 85
struct Node {
  Node *next;
  int value;
};

extern "C" __global__ void k(int *out) {
  Node *head = nullptr;
  for (int i = 0; i < 5; ++i)
    head = new Node{head, i * (int(threadIdx.x) + 1)};
  int sum = 0;
  while (head) {
    Node *node = head;
    sum += node->value;
    head = node->next;
    delete node;
  }
  int *array = static_cast<int *>(malloc(10 * sizeof(int)));
  for (int i = 0; i < 10; ++i)
    array[i] = i;
  for (int i = 0; i < 10; ++i)
    sum += array[i];
  free(array);
  out[threadIdx.x] = sum;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams of the simulator. Eager ones run work when it is given. Late ones
// queue it and run it no sooner than something waits for it: then only what the
// waiting asks for, so that a program without the right waits shows it.
#ifndef KVCACHE_RUNTIME_SIMSTREAM_H
#define KVCACHE_RUNTIME_SIMSTREAM_H

#include "kvcache/Runtime/Device.h"

#include <deque>
#include <functional>
#include <mutex>
#include <vector>

namespace kvrt {

class StreamQueue;

/// What gives memory back runs even where the device is lost.
enum class WorkKind { Use, Release };

/// A point in a queue: so many operations of it have run.
struct StreamPoint {
  std::shared_ptr<StreamQueue> queue;
  uint64_t position = 0;
};

/// One stream's work in order.
class StreamQueue {
  friend class StreamScheduler;
  struct Operation {
    std::function<Status()> run; // or, where empty, a wait:
    StreamPoint waitFor;
    WorkKind kind = WorkKind::Use;
  };
  std::deque<Operation> waiting;
  uint64_t numGiven = 0, numRun = 0;
};

/// Runs the queues of one device. One lock is held while work runs: a launch
/// has the device to itself. After a fault of a kernel the device does no more
/// work, as a CUDA context whose error is sticky.
class StreamScheduler {
public:
  explicit StreamScheduler(bool late) : late(late) {}

  std::shared_ptr<StreamQueue> createQueue();
  /// A null queue stands for the whole device: everything given so far runs
  /// first, then `run`.
  Status submit(const std::shared_ptr<StreamQueue> &queue,
                std::function<Status()> run, WorkKind kind = WorkKind::Use);
  StreamPoint now(const std::shared_ptr<StreamQueue> &queue);
  void wait(const std::shared_ptr<StreamQueue> &queue, StreamPoint point);
  /// Refuses all later work because of `fault`; work that runs may call it.
  void lose(const std::string &fault);
  /// The refusal, ok before `lose`.
  Status lost() const;
  /// Runs what `point` needs; the errors of the work that ran, one a line.
  Status reach(const StreamPoint &point);
  Status reachAll();

private:
  Status reachLocked(const StreamPoint &point);
  Status reachAllLocked();
  Status perform(const std::function<Status()> &run, WorkKind kind) const;
  /// Appends the message of a failure; of refusals one is enough, and none
  /// beside the fault itself.
  void collect(std::string &errors, const Status &status) const;

  const bool late;
  std::mutex lock;
  mutable std::mutex refusalLock;
  Status refusal;
  /// Queues with waiting work, destroyed streams' among them.
  std::vector<std::shared_ptr<StreamQueue>> busy;
};

class SimStream : public Stream {
public:
  explicit SimStream(std::shared_ptr<StreamScheduler> scheduler)
      : scheduler(std::move(scheduler)), queue(this->scheduler->createQueue()) {
  }
  Status synchronize() override;
  Status wait(Event &event) override;

  const std::shared_ptr<StreamScheduler> scheduler;
  const std::shared_ptr<StreamQueue> queue;
};

class SimEvent : public Event {
public:
  explicit SimEvent(std::shared_ptr<StreamScheduler> scheduler)
      : scheduler(std::move(scheduler)) {}
  Status record(Stream &stream) override;
  Status synchronize() override;
  Result<float> millisecondsSince(Event &begin) override;

  const std::shared_ptr<StreamScheduler> scheduler;
  std::mutex lock;
  StreamPoint point;
};

} // namespace kvrt

#endif // KVCACHE_RUNTIME_SIMSTREAM_H

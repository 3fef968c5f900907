//===- SimStream.cpp - Streams of the simulator ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimStream.h"

#include <algorithm>

using namespace kvrt;

namespace {

Status toStatus(std::string errors) {
  return errors.empty() ? Status() : Status::error(std::move(errors));
}

Status otherDevice(const char *what) {
  return Status::error(std::string("the ") + what +
                       " belongs to another device");
}

} // namespace

std::shared_ptr<StreamQueue> StreamScheduler::createQueue() {
  return std::make_shared<StreamQueue>();
}

void StreamScheduler::lose(const std::string &fault) {
  std::lock_guard<std::mutex> guard(refusalLock);
  if (refusal.ok())
    refusal = Status::error("the device does no more work after a fault (open "
                            "it anew): " +
                            fault);
}

Status StreamScheduler::lost() const {
  std::lock_guard<std::mutex> guard(refusalLock);
  return refusal;
}

Status StreamScheduler::perform(const std::function<Status()> &run,
                                WorkKind kind) const {
  if (kind == WorkKind::Use)
    if (Status refused = lost(); !refused.ok())
      return refused;
  return run();
}

void StreamScheduler::collect(std::string &errors, const Status &status) const {
  if (status.ok() || (!errors.empty() && status.message() == lost().message()))
    return;
  errors += (errors.empty() ? "" : "\n") + status.message();
}

Status StreamScheduler::submit(const std::shared_ptr<StreamQueue> &queue,
                               std::function<Status()> run, WorkKind kind) {
  std::lock_guard<std::mutex> guard(lock);
  if (!queue) {
    std::string errors;
    if (kind == WorkKind::Use || lost().ok())
      collect(errors, reachAllLocked());
    collect(errors, perform(run, kind));
    return toStatus(std::move(errors));
  }
  if (!late || (kind == WorkKind::Use && !lost().ok()))
    return perform(run, kind);
  if (queue->waiting.empty())
    busy.push_back(queue);
  queue->waiting.push_back({std::move(run), {}, kind});
  ++queue->numGiven;
  return {};
}

StreamPoint StreamScheduler::now(const std::shared_ptr<StreamQueue> &queue) {
  std::lock_guard<std::mutex> guard(lock);
  return {queue, queue->numGiven};
}

void StreamScheduler::wait(const std::shared_ptr<StreamQueue> &queue,
                           StreamPoint point) {
  std::lock_guard<std::mutex> guard(lock);
  if (!late || !point.queue || point.queue->numRun >= point.position)
    return;
  if (queue->waiting.empty())
    busy.push_back(queue);
  queue->waiting.push_back({nullptr, std::move(point)});
  ++queue->numGiven;
}

Status StreamScheduler::reach(const StreamPoint &point) {
  std::lock_guard<std::mutex> guard(lock);
  return reachLocked(point);
}

Status StreamScheduler::reachAll() {
  std::lock_guard<std::mutex> guard(lock);
  return reachAllLocked();
}

Status StreamScheduler::reachLocked(const StreamPoint &point) {
  std::string errors;
  // An explicit stack: chains of waits may be long. They have no cycles, for a
  // wait only ever asks for work given before it.
  std::vector<StreamPoint> goals;
  if (point.queue)
    goals.push_back(point);
  while (!goals.empty()) {
    StreamPoint goal = goals.back();
    StreamQueue &queue = *goal.queue;
    if (queue.numRun >= goal.position) {
      goals.pop_back();
      continue;
    }
    StreamQueue::Operation &next = queue.waiting.front();
    if (next.waitFor.queue &&
        next.waitFor.queue->numRun < next.waitFor.position) {
      goals.push_back(next.waitFor);
      continue;
    }
    StreamQueue::Operation operation = std::move(next);
    queue.waiting.pop_front();
    ++queue.numRun;
    if (queue.waiting.empty())
      busy.erase(std::find(busy.begin(), busy.end(), goal.queue));
    if (operation.run)
      collect(errors, perform(operation.run, operation.kind));
  }
  collect(errors, lost());
  return toStatus(std::move(errors));
}

Status StreamScheduler::reachAllLocked() {
  std::string errors;
  while (!busy.empty())
    collect(errors, reachLocked({busy.back(), busy.back()->numGiven}));
  collect(errors, lost());
  return toStatus(std::move(errors));
}

Status SimStream::synchronize() {
  return scheduler->reach(scheduler->now(queue));
}

Status SimStream::wait(Event &event) {
  auto *other = dynamic_cast<SimEvent *>(&event);
  if (!other || other->scheduler != scheduler)
    return otherDevice("event");
  std::lock_guard<std::mutex> guard(other->lock);
  scheduler->wait(queue, other->point);
  return {};
}

Status SimEvent::record(Stream &stream) {
  auto *other = dynamic_cast<SimStream *>(&stream);
  if (!other || other->scheduler != scheduler)
    return otherDevice("stream");
  std::lock_guard<std::mutex> guard(lock);
  point = scheduler->now(other->queue);
  return {};
}

Status SimEvent::synchronize() {
  StreamPoint goal;
  {
    std::lock_guard<std::mutex> guard(lock);
    goal = point;
  }
  return scheduler->reach(goal);
}

Result<float> SimEvent::millisecondsSince(Event & /*begin*/) {
  return Status::error(
      "the simulator measures no time between events; choose a "
      "GPU by KVCACHE_DEVICE=cuda");
}

#include "user_objects.hpp"

#include <memory>
#include <set>

#include "graph.hpp"

namespace gpumux::cudart {

struct UserObject {
  void* object = nullptr;
  void (*destroy)(void*) = nullptr;
  unsigned references = 0;
};

namespace {

std::set<UserObject*>& all_objects() {
  static auto* const all = new std::set<UserObject*>;
  return *all;
}
UserObject* object_of(void* handle) {
  auto* const object = static_cast<UserObject*>(handle);
  return all_objects().contains(object) ? object : nullptr;
}

/// Drops references. The last reference destroys the object, on the calling thread.
bool drop(UserObject* object, unsigned count) {
  if (count > object->references) return false;
  object->references -= count;
  if (object->references != 0) return true;
  const std::unique_ptr<UserObject> gone(object);
  all_objects().erase(object);
  gone->destroy(gone->object);
  return true;
}

}  // namespace

UserObjects::UserObjects(const UserObjects& other) : held_(other.held_) {
  for (const auto& [object, count] : held_) object->references += count;
}
UserObjects::~UserObjects() {
  for (const auto& [object, count] : held_) static_cast<void>(drop(object, count));
}
void UserObjects::retain(UserObject* object, unsigned count, bool moved) {
  if (!moved) object->references += count;
  held_[object] += count;
}
bool UserObjects::release(UserObject* object, unsigned count) {
  const auto found = held_.find(object);
  if (found == held_.end() || found->second < count) return false;
  found->second -= count;
  if (found->second == 0) held_.erase(found);
  return drop(object, count);
}

GPUMUX_CUDART_API Error cudaUserObjectCreate(void** made, void* object, void (*destroy)(void*),
                                             unsigned references, unsigned flags) {
  constexpr unsigned kNoDestructorSync = 1;  // required flag: no call can wait for the destructor
  const std::scoped_lock lock(Session::get().lock());
  if (made == nullptr || destroy == nullptr || references == 0 || flags != kNoDestructorSync)
    return returned(Error::InvalidValue);
  auto of = std::make_unique<UserObject>(UserObject{object, destroy, references});
  *made = of.get();
  all_objects().insert(of.release());
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaUserObjectRetain(void* handle, unsigned count) {
  const std::scoped_lock lock(Session::get().lock());
  UserObject* const object = object_of(handle);
  if (object == nullptr || count == 0) return returned(Error::InvalidValue);
  object->references += count;
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaUserObjectRelease(void* handle, unsigned count) {
  const std::scoped_lock lock(Session::get().lock());
  UserObject* const object = object_of(handle);
  return returned(object != nullptr && count != 0 && drop(object, count) ? Error::Success
                                                                         : Error::InvalidValue);
}
GPUMUX_CUDART_API Error cudaGraphRetainUserObject(void* handle, void* of, unsigned count, unsigned flags) {
  constexpr unsigned kMove = 1;
  const std::scoped_lock lock(Session::get().lock());
  Graph* const graph = graph_of(handle);
  UserObject* const object = object_of(of);
  if (graph == nullptr || object == nullptr || count == 0 || flags > kMove)
    return returned(Error::InvalidValue);
  if (flags == kMove && object->references < count) return returned(Error::InvalidValue);
  graph->objects.retain(object, count, flags == kMove);
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaGraphReleaseUserObject(void* handle, void* of, unsigned count) {
  const std::scoped_lock lock(Session::get().lock());
  Graph* const graph = graph_of(handle);
  UserObject* const object = object_of(of);
  if (graph == nullptr || object == nullptr || !graph->objects.release(object, count))
    return returned(Error::InvalidValue);
  return Error::Success;
}

}  // namespace gpumux::cudart

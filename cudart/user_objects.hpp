// Objects of the program that live as long as the graphs that use them.
#pragma once

#include <map>

namespace gpumux::cudart {

struct UserObject;

/// References to user objects that a graph or an instantiated graph holds.
class UserObjects {
 public:
  UserObjects() = default;
  /// Copies the references.
  UserObjects(const UserObjects& other);
  UserObjects& operator=(const UserObjects&) = delete;
  ~UserObjects();

  /// Adds references. `moved`: takes the caller's references instead of adding new ones.
  void retain(UserObject* object, unsigned count, bool moved);
  /// Drops references. Returns false if there are fewer.
  bool release(UserObject* object, unsigned count);

 private:
  std::map<UserObject*, unsigned> held_;
};

}  // namespace gpumux::cudart

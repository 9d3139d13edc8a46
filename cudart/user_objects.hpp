// Objects of the program that live as long as graphs that use them.
#pragma once

#include <map>

namespace gpumux::cudart {

struct UserObject;

/// References that a graph, or what was made of it, holds.
class UserObjects {
 public:
  UserObjects() = default;
  /// Holds as many.
  UserObjects(const UserObjects& other);
  UserObjects& operator=(const UserObjects&) = delete;
  ~UserObjects();

  /// `moved`: the references are the caller's.
  void retain(UserObject* object, unsigned count, bool moved);
  /// False: it does not hold so many.
  bool release(UserObject* object, unsigned count);

 private:
  std::map<UserObject*, unsigned> held_;
};

}  // namespace gpumux::cudart

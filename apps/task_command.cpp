// gpumux task FILE POSITION: runs on the nodes of a cluster, in job arrays of `gpumux sweep --slurm`
#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>

#include "cluster/task.hpp"
#include "commands.hpp"

namespace gpumux::cli {

int task_command(const Arguments& args) {
  std::string file;
  std::size_t position = 0;
  CLI::App app("Does a task of a job array that `gpumux sweep --slurm` has submitted (docs/cluster.md).",
               "gpumux task");
  app.add_option("FILE", file, "submissions/NAME.json in the shared folder")->required();
  app.add_option("POSITION", position, "of the task in the array")->required();
  if (!parse(app, args)) return 0;
  cluster::perform_task(file, position);
  return 0;
}

}  // namespace gpumux::cli

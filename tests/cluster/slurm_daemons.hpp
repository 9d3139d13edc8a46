// A Slurm cluster of one node on the loopback interface. Its real daemons are children of the test and use a
// folder of their own and free ports. Works as root and as a user, without systemd, without cgroups, and
// where the host's name cannot be resolved.
#pragma once

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"

namespace gpumux::test {

class SlurmDaemons {
 public:
  /// The daemon's path; empty if the daemon is not installed.
  static std::string find(const std::string& daemon) {
    for (const char* folder : {"/usr/sbin/", "/usr/bin/", "/usr/local/sbin/", "/usr/local/bin/"}) {
      if (::access((folder + daemon).c_str(), X_OK) == 0) return folder + daemon;
    }
    return "";
  }
  static bool installed() {
    return !find("slurmctld").empty() && !find("slurmd").empty() && !find("munged").empty() &&
           !find("sbatch").empty();
  }

  /// Starts all daemons. Returns an error message, or an empty string.
  std::string start(const std::string& folder) {
    namespace fs = std::filesystem;
    folder_ = folder;
    // Children of killed daemons become children of this process, so that stop() finds them.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (const char* part : {"munge", "state", "spool", "log", "home"}) {
      fs::create_directories(folder_ + "/" + part);
    }
    // Daemons and jobs inherit this environment, so they leave no files in the user's folders.
    ::setenv("HOME", (folder_ + "/home").c_str(), 1);
    for (const char* name : {"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"}) ::unsetenv(name);
    ::chmod((folder_ + "/munge").c_str(), 0755);
    Random random(static_cast<std::uint64_t>(::getpid()));
    std::string key;
    while (key.size() < 1024) key += static_cast<char>(random.next());
    write_file_atomically(folder_ + "/munge/munge.key", key);
    ::chmod((folder_ + "/munge/munge.key").c_str(), 0600);
    std::array<char, 256> name{};
    (void)::gethostname(name.data(), name.size() - 1);
    host_ = split(name.data(), '.').front();
    write_file_atomically(folder_ + "/slurm.conf", configuration());
    // With this plugin, slurmd starts without a mounted cgroup file system. No plugin that uses cgroups is
    // selected.
    write_file_atomically(folder_ + "/cgroup.conf", "CgroupPlugin=cgroup/v1\n");
    ::setenv("SLURM_CONF", (folder_ + "/slurm.conf").c_str(), 1);
    const std::string munge = folder_ + "/munge/";
    munged_ = spawn({find("munged"), "--foreground", "--force", "--key-file=" + munge + "munge.key",
                     "--socket=" + munge + "munge.sock", "--pid-file=" + munge + "pid",
                     "--log-file=" + munge + "log", "--seed-file=" + munge + "seed"});
    for (int i = 0; i < 200 && !fs::exists(munge + "munge.sock"); ++i) ::usleep(50'000);
    start_controller();
    start_node();
    // On a host without an entry for its own name, sinfo waits for a long time.
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::seconds(30)) {
      if (output("timeout 5 sinfo --noheader --format=%T") == "idle\n") return "";
      ::usleep(50'000);
    }
    return "no idle node after 30 s: " +
           output("timeout 5 sinfo 2>&1; tail -n 5 " + folder_ + "/log/*.log " + munge + "log");
  }

  void start_controller() { controller_ = spawn({find("slurmctld"), "-D", "-f", folder_ + "/slurm.conf"}); }
  void start_node() { node_ = spawn({find("slurmd"), "-D", "-f", folder_ + "/slurm.conf", "-N", host_}); }
  void kill_controller() { end(controller_); }
  void kill_node() { end(node_); }
  /// Removes the saved jobs, as if the controller had been killed before it saved its state.
  void forget_jobs() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/state")) {
      if (entry.path().filename().string().starts_with("job_state")) std::filesystem::remove(entry.path());
    }
  }
  [[nodiscard]] const std::string& host() const { return host_; }

  /// The standard output of a shell command.
  static std::string output(const std::string& command) {
    std::string text;
    FILE* pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
    std::array<char, 4096> buffer;
    std::size_t got = 0;
    while ((got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0) text.append(buffer.data(), got);
    ::pclose(pipe);
    return text;
  }

  /// Kills all processes that the daemons started, also those that made themselves independent.
  void stop() {
    for (bool any = munged_ > 0; any;) {
      any = false;
      for (const pid_t child : children()) {
        any = true;
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
      }
    }
    munged_ = -1;
  }
  ~SlurmDaemons() { stop(); }

 private:
  [[nodiscard]] std::string configuration() const {
    const passwd* user = ::getpwuid(::getuid());
    return fmt::format(R"(ClusterName=gpumux
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/munge.sock,cred_expire=5
CredType=cred/munge
SlurmctldPort={controller}
SlurmdPort={node}
SlurmctldPidFile={folder}/state/slurmctld.pid
SlurmdPidFile={folder}/state/slurmd.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SwitchType=switch/none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=10
InactiveLimit=0
KillWait=2
MinJobAge=300
JobRequeue=1
MaxArraySize=101
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
)",
                       fmt::arg("host", host_), fmt::arg("user", user == nullptr ? "root" : user->pw_name),
                       fmt::arg("folder", folder_), fmt::arg("controller", free_port()),
                       fmt::arg("node", free_port()));
  }

  static unsigned free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    (void)::bind(socket, reinterpret_cast<sockaddr*>(&address), size);
    (void)::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
    ::close(socket);
    return ntohs(address.sin_port);
  }

  [[nodiscard]] pid_t spawn(std::vector<std::string> words) const {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const std::string log = folder_ + "/log/output.log";
    FILE* out = std::freopen(log.c_str(), "a", stdout);
    FILE* err = std::freopen(log.c_str(), "a", stderr);
    if (out != nullptr && err != nullptr) ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  static void end(pid_t child) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  static std::vector<pid_t> children() {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename().string();
      const auto pid = parse_uint(name);
      if (!pid) continue;
      try {
        const std::string stat = read_file("/proc/" + name + "/stat");
        const std::vector<std::string> fields = split(stat.substr(stat.rfind(')') + 2), ' ');
        if (fields.at(1) == std::to_string(::getpid())) found.push_back(static_cast<pid_t>(*pid));
      } catch (const std::exception&) {  // the process has ended meanwhile
      }
    }
    return found;
  }

  std::string folder_;
  std::string host_;
  pid_t munged_ = -1;
  pid_t controller_ = -1;
  pid_t node_ = -1;
};

}  // namespace gpumux::test

/* Tries to escape from the sandbox. Each attempt runs in a process of its own and prints one line: "ALLOWED", "refused",
 * or the error where the contract names one.
 *
 * Variables: SERVER (a process id outside), BASE (the directory above the working directory), PORT (a service of the
 * machine on 127.0.0.1), KEY (a System V segment of another process, made by `escape segment` and removed by
 * `escape remove`). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static pid_t server;
static char path[8192];

static const char *in_base(const char *name) {
    snprintf(path, sizeof path, "%s/%s", getenv("BASE"), name);
    return path;
}

static const char *of_process(const char *process, const char *name) {
    snprintf(path, sizeof path, "/proc/%s/%s", process, name);
    return path;
}

static void print_result(const char *name, int exact, int status) {
    const char *result = "refused";
    if (!WIFEXITED(status))
        result = "ended by a signal";
    else if (WEXITSTATUS(status) == 0)
        result = "ALLOWED";
    else if (exact)
        result = strerrorname_np(WEXITSTATUS(status));
    printf("%s: %s\n", name, result);
    fflush(stdout);
}

/* Runs an attempt in a child, which reports by its exit status. */
#define ATTEMPT(exact, name, expression)                                                                               \
    do {                                                                                                               \
        fflush(stdout);                                                                                                \
        pid_t child = fork();                                                                                          \
        if (child == 0) {                                                                                              \
            errno = 0;                                                                                                 \
            long outcome = (long)(expression);                                                                         \
            _exit(outcome == -1 ? (errno ? errno : 255) : 0);                                                          \
        }                                                                                                              \
        int status = 0;                                                                                                \
        waitpid(child, &status, 0);                                                                                    \
        print_result(name, exact, status);                                                                             \
    } while (0)
#define TRY(name, expression) ATTEMPT(0, name, expression)
#define EXACT(name, expression) ATTEMPT(1, name, expression)

/* Returns 0 if a file has contents that can be read. */
static int reads(const char *file) {
    char byte;
    int fd = open(file, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return -1;
    errno = ENODATA;
    return read(fd, &byte, 1) == 1 ? 0 : -1;
}

static int opens(const char *file, int flags) { return open(file, flags | O_NONBLOCK); }

static int with_file(int (*work)(int)) {
    int fd = open("src/lib.rs", O_RDONLY);
    return fd < 0 ? -1 : work(fd);
}
static int fchmod_it(int fd) { return fchmod(fd, 0666); }
static int fchown_it(int fd) { return fchown(fd, getuid(), getgid()); }
static int futimens_it(int fd) { return futimens(fd, NULL); }
static int fsetxattr_it(int fd) { return fsetxattr(fd, "user.x", "y", 1, 0); }
static int flock_it(int fd) { return flock(fd, LOCK_EX | LOCK_NB); }
static int map_it(int fd) { return mmap(0, 1, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0; }
static int proc_fd(int fd) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return open(name, O_RDWR);
}

static int chmod_by_magic_link(void) {
    int fd = open("src/lib.rs", O_PATH);
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return chmod(name, 0666);
}

/* For paths of the machine: it must stay as it is even if the attempt is allowed. */
static int chmod_to_same_mode(const char *file) {
    struct stat found;
    return stat(file, &found) ? -1 : chmod(file, found.st_mode & 07777);
}

static int open_with_mode(mode_t mode) {
    unlink("target/made");
    return open("target/made", O_CREAT | O_EXCL | O_WRONLY, mode);
}

struct how {
    unsigned long long flags, mode, resolve;
};
static int openat2_with_mode(mode_t mode) {
    unlink("target/made2");
    struct how how = {O_CREAT | O_EXCL | O_WRONLY, mode, 0};
    return syscall(SYS_openat2, AT_FDCWD, "target/made2", &how, sizeof how);
}

static int run_setuid(void) {
    struct stat found;
    if (stat("/bin/su", &found) || !(found.st_mode & S_ISUID))
        return errno = ENOENT, -1;
    if (fork() == 0) {
        close(0), close(1), close(2);
        execl("/bin/su", "su", "-c", "true", NULL);
        _exit(1);
    }
    int status;
    wait(&status);
    errno = EPERM;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static int has_capabilities(void) {
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "Cap", 3) && strtoull(line + 8, NULL, 16))
            /* An ordinary user has a bounding set, and nothing in it can be gained. */
            if (strncmp(line, "CapBnd", 6) || getuid() == 0)
                return 0;
    errno = EPERM;
    return -1;
}

static int clone_with(unsigned long flags) {
    long child = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        _exit(0);
    return child < 0 ? -1 : 0;
}

struct args3 {
    unsigned long long flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};
static int clone3_it(void) {
    struct args3 args = {.exit_signal = SIGCHLD};
    long child = syscall(SYS_clone3, &args, sizeof args);
    if (child == 0)
        _exit(0);
    return child < 0 ? -1 : 0;
}

static int vm_call(long call) {
    char byte;
    struct iovec here = {&byte, 1}, there = {&server, 1};
    return syscall(call, server, &here, 1, &there, 1, 0);
}

static int signal_by_handle(pid_t process) {
    int handle = syscall(SYS_pidfd_open, process, 0);
    return handle < 0 ? -1 : syscall(SYS_pidfd_send_signal, handle, 0, NULL, 0);
}

static int limit_of(pid_t process) {
    struct rlimit none = {0, 0};
    return prlimit(process, RLIMIT_FSIZE, &none, NULL);
}

static int scheduler_of(pid_t process) {
    struct sched_param parameter = {0};
    return sched_setscheduler(process, SCHED_BATCH, &parameter);
}
static int parameter_of(pid_t process) {
    struct sched_param parameter = {0};
    return sched_setparam(process, &parameter);
}
static int attributes_of(pid_t process) {
    unsigned int attributes[12] = {48, SCHED_BATCH};
    return syscall(SYS_sched_setattr, process, attributes, 0);
}
static int affinity_of(pid_t process) {
    cpu_set_t all;
    sched_getaffinity(0, sizeof all, &all);
    return sched_setaffinity(process, sizeof all, &all);
}

static int enter_namespace(const char *name) {
    char number[32];
    snprintf(number, sizeof number, "%d", server);
    int fd = open(of_process(number, name), O_RDONLY);
    return fd < 0 ? -1 : setns(fd, 0);
}

static int set_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return clock_settime(CLOCK_REALTIME, &now);
}
static int set_time_of_day(void) {
    struct timeval now;
    gettimeofday(&now, NULL);
    return settimeofday(&now, NULL);
}
static int adjust_clock(void) {
    struct timex change = {.modes = ADJ_TICK, .tick = 10000};
    return clock_adjtime(CLOCK_REALTIME, &change);
}

static int connect_to(int family) {
    int fd = socket(family, SOCK_STREAM, 0);
    if (fd < 0)
        return -1;
    int port = htons(atoi(getenv("PORT")));
    if (family == AF_INET) {
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        return connect(fd, (struct sockaddr *)&to, sizeof to);
    }
    struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = port, .sin6_addr.s6_addr = {[10] = 255, 255, 127, 0, 0, 1}};
    return connect(fd, (struct sockaddr *)&to, sizeof to);
}

static int send_out(void) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(0x08080808)};
    return fd < 0 ? -1 : sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof to);
}

static int bind_port(int port) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return fd < 0 ? -1 : bind(fd, (struct sockaddr *)&to, sizeof to);
}

static int connect_local(const char *name, int abstract) {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path + abstract, sizeof to.sun_path - 1, "%s", name);
    return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof to);
}

static int pair(int kind) {
    int fds[2];
    return socketpair(AF_UNIX, kind, 0, fds);
}

static int type_into_terminal(void) {
    int fd = open("/dev/null", O_RDONLY);
    return ioctl(fd, TIOCSTI, "x");
}

static int attach_segment(int key) {
    int id = shmget(key, 0, 0);
    return id < 0 ? -1 : (shmat(id, NULL, SHM_RDONLY) == (void *)-1 ? -1 : 0);
}

static int load_module(void) {
    int fd = open("src/lib.rs", O_RDONLY);
    return syscall(SYS_finit_module, fd, "", 0);
}

static int open_by_handle(void) {
    char space[sizeof(struct file_handle) + 128];
    struct file_handle *handle = (struct file_handle *)space;
    int mount_id;
    handle->handle_bytes = 128;
    if (name_to_handle_at(AT_FDCWD, "src/lib.rs", handle, &mount_id, 0))
        return -1;
    int here = open(".", O_RDONLY);
    return open_by_handle_at(here, handle, O_RDWR);
}

static int open_files_of(const char *process) {
    char name[32];
    for (int number = 0; number < 16; number++) {
        snprintf(name, sizeof name, "fd/%d", number);
        if (open(of_process(process, name), O_RDONLY | O_NONBLOCK) >= 0 || readlink(path, name, sizeof name) >= 0)
            return 0;
    }
    return -1;
}

static int core_pattern(void) { return opens("/proc/sys/kernel/core_pattern", O_WRONLY); }

static int write_to(const char *file, const char *text) {
    int fd = open(file, O_WRONLY);
    return fd < 0 ? -1 : write(fd, text, strlen(text));
}

static int make_in(const char *directory) {
    char name[256];
    snprintf(name, sizeof name, "%s/candor-drill-%d", directory, server);
    int fd = open(name, O_CREAT | O_WRONLY, 0600);
    if (fd >= 0)
        unlink(name);
    return fd;
}

static void files(void) {
    TRY("read a source file", reads("src/lib.rs"));
    TRY("open a source file to write", opens("src/lib.rs", O_WRONLY));
    TRY("open a source file to append", opens("src/lib.rs", O_WRONLY | O_APPEND));
    TRY("truncate a source file while opening", opens("src/lib.rs", O_RDONLY | O_TRUNC));
    TRY("truncate a source file", truncate("src/lib.rs", 0));
    TRY("write through /proc/self/fd", with_file(proc_fd));
    TRY("map a source file to write", with_file(map_it));
    EXACT("chmod a source file", chmod("src/lib.rs", 0666));
    EXACT("fchmod a source file", with_file(fchmod_it));
    EXACT("fchmodat a source file", fchmodat(AT_FDCWD, "src/lib.rs", 0666, 0));
    EXACT("fchmodat2 a source file", syscall(452, AT_FDCWD, "src/lib.rs", 0666, 0));
    EXACT("chmod through /proc/self/fd", chmod_by_magic_link());
    EXACT("chmod the log", chmod("audit-log.jsonl", 0666));
    EXACT("chmod the working directory", chmod(".", 0777));
    EXACT("chown a source file", chown("src/lib.rs", getuid(), getgid()));
    EXACT("lchown a source file", lchown("src/lib.rs", getuid(), getgid()));
    EXACT("fchown a source file", with_file(fchown_it));
    EXACT("utimensat a source file", utimensat(AT_FDCWD, "src/lib.rs", NULL, 0));
    EXACT("futimens a source file", with_file(futimens_it));
    EXACT("setxattr a source file", setxattr("src/lib.rs", "user.x", "y", 1, 0));
    EXACT("lsetxattr a source file", lsetxattr("src/lib.rs", "user.x", "y", 1, 0));
    EXACT("fsetxattr a source file", with_file(fsetxattr_it));
    TRY("lock a source file", with_file(flock_it));
    TRY("unlink a source file", unlink("src/lib.rs"));
    TRY("rename a source file", rename("src/lib.rs", "src/other.rs"));
    TRY("rename a source file out", rename("src/lib.rs", "target/lib.rs"));
    TRY("rename over a source file", rename("target/old", "src/lib.rs"));
    TRY("exchange with a source file", renameat2(AT_FDCWD, "target/old", AT_FDCWD, "src/lib.rs", 2));
    TRY("hard link of a source file", link("src/lib.rs", "target/hard"));
    TRY("make a file beside a source file", open("src/new", O_CREAT | O_WRONLY, 0600));
    TRY("make an unnamed file beside it", open("src", O_TMPFILE | O_WRONLY, 0600));
    TRY("make a directory beside it", mkdir("src/dir", 0700));
    TRY("make a link beside it", symlink("/", "src/link"));
    TRY("make a FIFO beside it", mkfifo("src/fifo", 0600));
    TRY("remove a directory", rmdir("src"));
    TRY("rename the tree", rename("../work", "../gone"));
    TRY("add a git hook", open(".git/hooks/new", O_CREAT | O_WRONLY, 0700));
    TRY("change a git hook", opens(".git/hooks/pre-commit", O_WRONLY));
    TRY("change a plan", opens("docs/plans/p.toml", O_WRONLY));
    TRY("write the log", opens("audit-log.jsonl", O_WRONLY | O_APPEND));
    TRY("make a file in target", open("target/new", O_CREAT | O_WRONLY, 0600));
    TRY("make a device in target", mknod("target/null", S_IFCHR | 0666, 0x103));
    TRY("make a block device in target", mknod("target/disk", S_IFBLK | 0666, 0x800));
    EXACT("setuid bit by chmod", chmod("target/old", 04755));
    EXACT("setgid bit by chmod", chmod("target/old", 02755));
    EXACT("setuid bit by fchmodat2", syscall(452, AT_FDCWD, "target/old", 04755, 0));
    EXACT("setuid bit by open", open_with_mode(04755));
    EXACT("setgid bit by mkdir", mkdir("target/d", 02755));
    EXACT("setuid bit by mknod", mknod("target/n", S_IFREG | 04755, 0));
    EXACT("setuid bit by openat2", openat2_with_mode(04755));
    TRY("run a setuid program", run_setuid());
}

static void secrets(void) {
    TRY("read .env", reads(".env"));
    TRY("write .env", opens(".env", O_WRONLY));
    TRY("unlink .env", unlink(".env"));
    TRY("rename .env", rename(".env", "target/env"));
    TRY("link .env", link(".env", "target/env"));
    TRY("read config/.env", reads("config/.env"));
    TRY("read .env through /proc/self/cwd", reads("/proc/self/cwd/.env"));
    TRY("read .env through /proc/self/root", (in_base("work/.env"), memmove(path + 15, path, strlen(path) + 1),
                                             memcpy(path, "/proc/self/root", 15), reads(path)));
    TRY("read the key", reads(in_base("own/approval.key")));
    TRY("write the lock", opens(in_base("own/lock"), O_WRONLY));
    EXACT("chmod the key", chmod(in_base("own/approval.key"), 0666));
    TRY("unlink the revocation", unlink(in_base("own/revoked")));
    TRY("make a file beside the key", open(in_base("own/new"), O_CREAT | O_WRONLY, 0600));
    TRY("rename the directory of the key", (rename(in_base("own"), "target/own")));
    TRY("read a tool", reads(in_base("tool/data")));
    TRY("write a tool", opens(in_base("tool/data"), O_WRONLY));
    TRY("read /etc/shadow", reads("/etc/shadow"));
    TRY("list /root", opens("/root", O_DIRECTORY));
    TRY("list /home", opens("/home", O_DIRECTORY));
    TRY("list /var", opens("/var", O_DIRECTORY));
    TRY("list /run", opens("/run", O_DIRECTORY));
    TRY("list /boot", opens("/boot", O_DIRECTORY));
    TRY("make a file in /", make_in("/"));
    TRY("make a file in /tmp", make_in("/tmp"));
    TRY("make a file in /var/tmp", make_in("/var/tmp"));
    TRY("make a file in /dev", make_in("/dev"));
    TRY("make a file in /dev/shm", make_in("/dev/shm"));
    TRY("make a file in /usr", make_in("/usr"));
    TRY("make a file in /etc", make_in("/etc"));
    EXACT("chmod /dev/null", chmod_to_same_mode("/dev/null"));
    EXACT("chmod /usr", chmod_to_same_mode("/usr"));
    TRY("open /dev/mem", opens("/dev/mem", O_RDONLY));
    TRY("open /dev/kmsg", opens("/dev/kmsg", O_WRONLY));
    TRY("open /dev/tty", opens("/dev/tty", O_RDWR));
    TRY("open /dev/ptmx", opens("/dev/ptmx", O_RDWR));
    TRY("open /dev/fuse", opens("/dev/fuse", O_RDWR));
    TRY("open /dev/kvm", opens("/dev/kvm", O_RDWR));
    TRY("open /dev/loop-control", opens("/dev/loop-control", O_RDWR));
    TRY("open /dev/net/tun", opens("/dev/net/tun", O_RDWR));
    TRY("write /dev/null", write_to("/dev/null", "x"));
    TRY("read /dev/urandom", reads("/dev/urandom"));
}

static void kernel(void) {
    char number[32];
    snprintf(number, sizeof number, "%d", server);
    TRY("open core_pattern to write", core_pattern());
    TRY("open sysrq-trigger", opens("/proc/sysrq-trigger", O_WRONLY));
    TRY("read /proc/kcore", reads("/proc/kcore"));
    TRY("read /proc/kmsg", reads("/proc/kmsg"));
    TRY("write own oom_score_adj", write_to("/proc/self/oom_score_adj", "500"));
    TRY("write own uid_map", write_to("/proc/self/uid_map", "0 0 1"));
    TRY("environment of the server", reads(of_process(number, "environ")));
    TRY("command line of the server", reads(of_process(number, "cmdline")));
    TRY("memory of the server", opens(of_process(number, "mem"), O_RDWR));
    TRY("root of the server", opens(of_process(number, "root/etc"), O_RDONLY));
    TRY("files of the server", open_files_of(number));
    TRY("environment of process 1", reads("/proc/1/environ"));
    TRY("memory of process 1", opens("/proc/1/mem", O_RDWR));
    TRY("root of process 1", opens("/proc/1/root/etc", O_RDONLY));
    TRY("files of process 1", open_files_of("1"));
    TRY("capabilities", has_capabilities());
    TRY("raise an ambient capability", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0));
    TRY("become another user", setresuid(1234, 1234, 1234));
    TRY("become another group", setresgid(1234, 1234, 1234));
    TRY("leave all groups", setgroups(0, NULL));
    TRY("change the root", chroot("/"));
    EXACT("user namespace", unshare(CLONE_NEWUSER));
    EXACT("mount namespace", unshare(CLONE_NEWNS));
    EXACT("pid namespace", unshare(CLONE_NEWPID));
    EXACT("ipc namespace", unshare(CLONE_NEWIPC));
    EXACT("network namespace", unshare(CLONE_NEWNET));
    EXACT("uts namespace", unshare(CLONE_NEWUTS));
    EXACT("cgroup namespace", unshare(CLONE_NEWCGROUP));
    EXACT("time namespace", unshare(0x80));
    EXACT("user namespace by clone", clone_with(CLONE_NEWUSER));
    EXACT("user and network namespace by clone", clone_with(CLONE_NEWUSER | CLONE_NEWNET));
    EXACT("clone3", clone3_it());
    TRY("plain clone", clone_with(0));
    TRY("mount namespace of the server", enter_namespace("ns/mnt"));
    TRY("network namespace of the server", enter_namespace("ns/net"));
    EXACT("setns", setns(-1, 0));
    EXACT("mount", mount("none", "target", "tmpfs", 0, NULL));
    EXACT("bind mount", mount("src", "target", NULL, MS_BIND, NULL));
    EXACT("remount", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
    EXACT("umount", umount2("/proc", MNT_DETACH));
    EXACT("pivot_root", syscall(SYS_pivot_root, ".", "."));
    EXACT("open_tree", syscall(SYS_open_tree, AT_FDCWD, ".", 1));
    EXACT("move_mount", syscall(SYS_move_mount, -1, "", -1, "", 0));
    EXACT("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
    EXACT("fsmount", syscall(SYS_fsmount, -1, 0, 0));
    EXACT("fspick", syscall(SYS_fspick, AT_FDCWD, ".", 0));
    EXACT("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, ".", 0, NULL, 0));
    EXACT("swapon", swapon("target/old", 0));
    EXACT("swapoff", swapoff("target/old"));
    EXACT("reboot", reboot(RB_DISABLE_CAD));
    EXACT("init_module", syscall(SYS_init_module, "", 0, ""));
    EXACT("finit_module", load_module());
    EXACT("delete_module", syscall(SYS_delete_module, "none", 0));
    EXACT("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, 0));
    EXACT("syslog", syscall(SYS_syslog, 3, path, sizeof path));
    EXACT("acct", syscall(SYS_acct, NULL));
    EXACT("quotactl", syscall(SYS_quotactl, 0, "", 0, NULL));
    EXACT("sethostname", sethostname("x", 1));
    EXACT("setdomainname", setdomainname("x", 1));
    EXACT("clock_settime", set_clock());
    EXACT("settimeofday", set_time_of_day());
    EXACT("clock_adjtime", adjust_clock());
    EXACT("vhangup", vhangup());
    EXACT("bpf", syscall(SYS_bpf, 0, NULL, 0));
    EXACT("perf_event_open", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
    EXACT("userfaultfd", syscall(SYS_userfaultfd, 1));
    EXACT("fanotify_init", syscall(SYS_fanotify_init, 0, 0));
    EXACT("io_uring_setup", syscall(SYS_io_uring_setup, 1, NULL));
    EXACT("io_uring_enter", syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL));
    EXACT("io_uring_register", syscall(SYS_io_uring_register, -1, 0, NULL, 0));
    EXACT("add_key", syscall(SYS_add_key, "user", "x", "y", 1, -3));
    EXACT("request_key", syscall(SYS_request_key, "user", "x", NULL, -3));
    EXACT("keyctl", syscall(SYS_keyctl, 0, -3, 1));
    EXACT("open_by_handle_at", open_by_handle());
    TRY("call of the 32-bit interface", syscall(0x40000000 | SYS_getpid));
    EXACT("type into a terminal", type_into_terminal());
}

static void processes(void) {
    int handle = syscall(SYS_pidfd_open, getpid(), 0);
    TRY("signal to the server", kill(server, 0));
    TRY("kill the server", kill(server, SIGKILL));
    TRY("kill the group of the server", kill(-server, SIGKILL));
    TRY("tkill the server", syscall(SYS_tkill, server, SIGKILL));
    TRY("tgkill the server", syscall(SYS_tgkill, server, server, SIGKILL));
    TRY("signal to the server by handle", signal_by_handle(server));
    TRY("signal to process 1", kill(1, 0));
    TRY("kill process 1", kill(1, SIGKILL));
    TRY("tgkill process 1", syscall(SYS_tgkill, 1, 1, SIGSEGV));
    TRY("signal to process 1 by handle", signal_by_handle(1));
    EXACT("ptrace attach", ptrace(PTRACE_ATTACH, server, 0, 0));
    EXACT("ptrace seize", ptrace(PTRACE_SEIZE, server, 0, 0));
    EXACT("ptrace attach to process 1", ptrace(PTRACE_ATTACH, 1, 0, 0));
    EXACT("process_vm_readv", vm_call(SYS_process_vm_readv));
    EXACT("process_vm_writev", vm_call(SYS_process_vm_writev));
    EXACT("process_madvise", syscall(SYS_process_madvise, handle, NULL, 0, 0, 0));
    EXACT("pidfd_getfd", syscall(SYS_pidfd_getfd, handle, 0, 0));
    EXACT("kcmp", syscall(SYS_kcmp, server, getpid(), 0, 0, 0));
    EXACT("move_pages", syscall(SYS_move_pages, server, 0, NULL, NULL, NULL, 0));
    EXACT("migrate_pages", syscall(SYS_migrate_pages, server, 0, NULL, NULL));
    EXACT("limit of the server", limit_of(server));
    EXACT("limit of process 1", limit_of(1));
    EXACT("own limit by process id", limit_of(getpid()));
    EXACT("own limit", limit_of(0));
    EXACT("priority of the server", setpriority(PRIO_PROCESS, server, 5));
    EXACT("priority of the user", setpriority(PRIO_USER, 0, 5));
    EXACT("priority of the group", setpriority(PRIO_PGRP, 0, 5));
    EXACT("own priority", setpriority(PRIO_PROCESS, 0, 19));
    EXACT("I/O priority of the server", syscall(SYS_ioprio_set, 1, server, 0x6000));
    EXACT("I/O priority of the user", syscall(SYS_ioprio_set, 3, getuid(), 0x6000));
    EXACT("scheduler of the server", scheduler_of(server));
    EXACT("own scheduler", scheduler_of(0));
    EXACT("scheduling parameter of the server", parameter_of(server));
    EXACT("scheduling attributes of the server", attributes_of(server));
    EXACT("affinity of the server", affinity_of(server));
    EXACT("affinity of process 1", affinity_of(1));
    EXACT("own affinity", affinity_of(0));
}

static void ipc_and_sockets(void) {
    int key = atoi(getenv("KEY"));
    EXACT("segment of another process", attach_segment(key));
    EXACT("new segment", shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600));
    EXACT("semaphore", semget(IPC_PRIVATE, 1, IPC_CREAT | 0600));
    EXACT("message queue", msgget(IPC_PRIVATE, IPC_CREAT | 0600));
    TRY("POSIX queue", syscall(SYS_mq_open, "drill", O_CREAT | O_RDWR, 0600, NULL));
    EXACT("local stream socket", socket(AF_UNIX, SOCK_STREAM, 0));
    EXACT("local datagram socket", socket(AF_UNIX, SOCK_DGRAM, 0));
    EXACT("connect to a socket file", connect_local("socket", 0));
    EXACT("connect to an abstract socket", connect_local("candor-drill", 1));
    EXACT("pair of streams", pair(SOCK_STREAM));
    EXACT("pair of datagrams", pair(SOCK_DGRAM));
    EXACT("service of the machine", connect_to(AF_INET));
    EXACT("service of the machine by a mapped address", connect_to(AF_INET6));
    EXACT("datagram to the internet", send_out());
    EXACT("listen on the loopback interface", bind_port(0));
    TRY("bind a privileged port", bind_port(80));
    TRY("raw socket", socket(AF_INET, SOCK_RAW, 1));
    TRY("packet socket", socket(AF_PACKET, SOCK_RAW, 0));
    TRY("audit netlink socket", socket(AF_NETLINK, SOCK_RAW, 9));
    TRY("uevent netlink socket", socket(AF_NETLINK, SOCK_RAW, 15));
    EXACT("virtual machine socket", socket(40, SOCK_STREAM, 0));
    EXACT("crypto socket", socket(38, SOCK_SEQPACKET, 0));
    EXACT("bluetooth socket", socket(31, SOCK_RAW, 1));
    EXACT("CAN socket", socket(29, SOCK_RAW, 1));
    EXACT("TIPC socket", socket(30, SOCK_SEQPACKET, 0));
}

int main(int count, char **arguments) {
    if (count > 1) {
        int make = !strcmp(arguments[1], "segment");
        int id = shmget(atoi(getenv("KEY")), 4096, make ? IPC_CREAT | IPC_EXCL | 0600 : 0);
        return id < 0 || (!make && shmctl(id, IPC_RMID, NULL));
    }
    server = atoi(getenv("SERVER"));
    kernel();
    processes();
    ipc_and_sockets();
    secrets();
    files();
    return 0;
}

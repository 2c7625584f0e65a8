//! Attacks from inside the sandbox: each attempt prints one line with its result.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::Command;

fn report<T>(attempt: &str, result: io::Result<T>) {
    let how = match result {
        Ok(_) => "done".to_owned(),
        Err(error) => match error.raw_os_error() {
            Some(1) => "EPERM".to_owned(),
            Some(2) => "ENOENT".to_owned(),
            Some(13) => "EACCES".to_owned(),
            Some(16) => "EBUSY".to_owned(),
            Some(18) => "EXDEV".to_owned(),
            Some(30) => "EROFS".to_owned(),
            _ => error.to_string(),
        },
    };
    println!("\n> {attempt}: {how}");
}

/// Reads a file that must not be read. An empty one in its place is as good as none.
fn read_secret(path: impl AsRef<std::path::Path>) -> io::Result<()> {
    match fs::read(path)?.is_empty() {
        true => Err(io::Error::from_raw_os_error(2)),
        false => Ok(()),
    }
}

/// Lists a directory that must not be listed. An empty one in its place is as good as none.
fn list_secret(path: impl AsRef<std::path::Path>) -> io::Result<()> {
    match fs::read_dir(path)?.next() {
        None => Err(io::Error::from_raw_os_error(2)),
        Some(_) => Ok(()),
    }
}

fn append(path: PathBuf) -> io::Result<()> {
    OpenOptions::new().append(true).open(path)?.write_all(b"x")
}

fn base(path: &str) -> PathBuf {
    PathBuf::from(std::env::var("BASE").unwrap()).join(path)
}

/// Makes the attempts of one attack and prints the result of each.
pub(crate) fn run(name: &str) {
    match name {
        "log" => log(),
        "workspace" => workspace(),
        "own" => own(),
        "processes" => processes(),
        "sockets" => sockets(),
        "allowed" => allowed(),
        "memory" => memory(),
        _ => panic!("unknown attack: {name}"),
    }
}

fn log() {
    let log = || PathBuf::from("audit-log.jsonl");
    report(
        "truncate",
        OpenOptions::new().write(true).truncate(true).open(log()),
    );
    report("create", File::create(log()));
    report("append", append(log()));
    report("remove", fs::remove_file(log()));
    report("move away", fs::rename(log(), "target/log"));
    fs::write("target/forged", "old line\n").unwrap();
    report("restore over it", fs::rename("target/forged", log()));
    report("hard link", fs::hard_link(log(), "target/hard"));
    symlink("../audit-log.jsonl", "target/soft").unwrap();
    report("through a link", append("target/soft".into()));
    report("rotated name", fs::write("audit-log.jsonl.1", "x"));
}

fn workspace() {
    report("edit a hook", fs::write(".git/hooks/pre-commit", "evil"));
    report("add a hook", fs::write(".git/hooks/post-commit", "evil"));
    report("move the hooks", fs::rename(".git/hooks", "target/hooks"));
    report("change a plan", append("docs/plans/p.toml".into()));
    report("add a plan", fs::write("docs/plans/q.toml", "evil"));
    report("change settings", append(".candor/settings".into()));
    report("change source", append("src/lib.rs".into()));
    report("add a file", fs::write("new", ""));
    report("remove a directory", fs::remove_dir_all("config"));
    report("read .env", read_secret(".env"));
    report("read config/.env", read_secret("config/.env"));
    report("read .git/config", read_secret(".git/config"));
    symlink("../.env", "target/env").unwrap();
    report("read .env through a link", read_secret("target/env"));
    report(
        "read .env through /proc",
        read_secret("/proc/self/cwd/.env"),
    );
    report("hard link to .env", fs::hard_link(".env", "target/env2"));
    report("move .env", fs::rename(".env", "target/env3"));
    report("move what holds one", fs::rename("config", "target/config"));
}

fn own() {
    report("read the key", read_secret(base("own/approval.key")));
    report(
        "read the key from /",
        read_secret(format!(
            "/proc/self/root{}",
            base("own/approval.key").display()
        )),
    );
    report("list", list_secret(base("own")));
    report("delete the lock", fs::remove_file(base("own/lock")));
    report(
        "restore the checkpoint",
        fs::write(base("own/checkpoint"), "old"),
    );
    report("unrevoke", fs::remove_file(base("own/revoked")));
    report("add a revocation", fs::write(base("own/new"), ""));
    report(
        "link the key",
        fs::hard_link(base("own/approval.key"), "target/key"),
    );
    report("move it all", fs::rename(base("own"), "target/own"));
    report("change a tool", append(base("tool/data")));
    report("read /etc/shadow", File::open("/etc/shadow"));
    report(
        "write /tmp",
        fs::write(format!("/tmp/candor-attack-{}", std::process::id()), ""),
    );
    report("open a device", File::open("/dev/kmsg"));
}

fn processes() {
    let server = std::env::var("SERVER").unwrap();
    let parent = std::os::unix::process::parent_id().to_string();
    for (who, process) in [("server", &server), ("parent", &parent)] {
        report(
            &format!("environment of the {who}"),
            fs::read(format!("/proc/{process}/environ")),
        );
        report(
            &format!("memory of the {who}"),
            File::open(format!("/proc/{process}/mem")),
        );
        report(
            &format!("program of the {who}"),
            fs::read_link(format!("/proc/{process}/exe")),
        );
        let key = base("own/approval.key");
        report(
            &format!("root of the {who}"),
            fs::read(format!("/proc/{process}/root{}", key.display())),
        );
        let ended = Command::new("sh")
            .args(["-c", &format!("kill -9 {process} 2>&1")])
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&ended.stdout).to_lowercase();
        let how = match words.as_str() {
            words if words.contains("not permitted") => "EPERM",
            words if words.contains("no such process") => "ESRCH",
            "" => "no error",
            words => words,
        };
        println!("\n> kill the {who}: {how}");
    }
}

fn sockets() {
    let port: u16 = std::env::var("PORT").unwrap().parse().unwrap();
    report("connect over TCP", TcpStream::connect(("127.0.0.1", port)));
    report("listen on TCP", TcpListener::bind("127.0.0.1:0"));
    report(
        "send over UDP",
        UdpSocket::bind("127.0.0.1:0").and_then(|udp| udp.send_to(b"x", ("127.0.0.1", port))),
    );
    report(
        "connect to a local socket",
        UnixStream::connect(base("socket")),
    );
    report("make a local socket", UnixListener::bind("target/socket"));
    report("pair of streams", UnixStream::pair());
    report("pair of datagrams", UnixDatagram::pair());
    report("own server", own_server());
}

/// Starts a server on the loopback interface and connects to it.
fn own_server() -> io::Result<()> {
    let server = TcpListener::bind("127.0.0.1:0")?;
    let address = server.local_addr()?;
    let client = std::thread::spawn(move || TcpStream::connect(address)?.write_all(b"x"));
    let (mut peer, _) = server.accept()?;
    let mut read = [0];
    io::Read::read_exact(&mut peer, &mut read)?;
    client.join().unwrap()
}

fn allowed() {
    report("read source", fs::read("src/lib.rs"));
    report("read beside .env", fs::read("config/app.toml"));
    report("read the log", fs::read("audit-log.jsonl"));
    report("read HEAD", fs::read(".git/HEAD"));
    report("list the root", fs::read_dir("."));
    report("list config", fs::read_dir("config"));
    report("read a tool", fs::read(base("tool/data")));
    report("write target", fs::write("target/new", "x"));
    report("change target", append("target/old".into()));
    report("make directories", fs::create_dir_all("target/a/b"));
    report(
        "move across directories",
        fs::rename("target/new", "target/a/b/new"),
    );
    report(
        "link across directories",
        fs::hard_link("target/old", "target/a/old"),
    );
    report("remove directories", fs::remove_dir_all("target/a"));
    for name in ["HOME", "TMPDIR"] {
        let home = PathBuf::from(std::env::var(name).unwrap());
        report(name, fs::write(home.join("x"), "x"));
        report(
            &format!("within {name}"),
            fs::rename(home.join("x"), home.join("y")),
        );
    }
    report(
        "drop output",
        OpenOptions::new()
            .write(true)
            .truncate(true)
            .open("/dev/null"),
    );
    report("random", File::open("/dev/urandom"));
    report("a child", Command::new("true").status());
    report(
        "a thread",
        std::thread::spawn(|| ())
            .join()
            .map_err(|_| io::ErrorKind::Other.into()),
    );
    report("processors", std::thread::available_parallelism());
}

fn memory() {
    for size in [1, 512] {
        let mut room: Vec<u8> = Vec::new();
        let got = room.try_reserve_exact(size << 20);
        report(
            &format!("{size} MiB"),
            got.map_err(|_| io::ErrorKind::OutOfMemory.into()),
        );
    }
}

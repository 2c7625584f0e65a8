//! What runs inside: tries what it is told to, and says of each attempt how it went.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::Command;

fn said<T>(attempt: &str, result: io::Result<T>) {
    let how = match result {
        Ok(_) => "done".to_owned(),
        Err(error) => match error.raw_os_error() {
            Some(1) => "EPERM".to_owned(),
            Some(13) => "EACCES".to_owned(),
            Some(18) => "EXDEV".to_owned(),
            _ => error.to_string(),
        },
    };
    println!("\n> {attempt}: {how}");
}

fn append(path: PathBuf) -> io::Result<()> {
    OpenOptions::new().append(true).open(path)?.write_all(b"x")
}

fn base(path: &str) -> PathBuf {
    PathBuf::from(std::env::var("BASE").unwrap()).join(path)
}

/// A test like the others when nobody tells it to attack.
#[test]
fn attacker() {
    match std::env::var("ATTACK").as_deref() {
        Ok("log") => log(),
        Ok("workspace") => workspace(),
        Ok("own") => own(),
        Ok("processes") => processes(),
        Ok("sockets") => sockets(),
        Ok("allowed") => allowed(),
        Ok("memory") => memory(),
        _ => {}
    }
}

fn log() {
    let log = || PathBuf::from("audit-log.jsonl");
    said(
        "truncate",
        OpenOptions::new().write(true).truncate(true).open(log()),
    );
    said("create", File::create(log()));
    said("append", append(log()));
    said("remove", fs::remove_file(log()));
    said("move away", fs::rename(log(), "target/log"));
    fs::write("target/forged", "old line\n").unwrap();
    said("restore over it", fs::rename("target/forged", log()));
    said("hard link", fs::hard_link(log(), "target/hard"));
    symlink("../audit-log.jsonl", "target/soft").unwrap();
    said("through a link", append("target/soft".into()));
    said("rotated name", fs::write("audit-log.jsonl.1", "x"));
    said("read", fs::read(log()));
}

fn workspace() {
    said("edit a hook", fs::write(".git/hooks/pre-commit", "evil"));
    said("add a hook", fs::write(".git/hooks/post-commit", "evil"));
    said("move the hooks", fs::rename(".git/hooks", "target/hooks"));
    said("change a plan", append("docs/plans/p.toml".into()));
    said("add a plan", fs::write("docs/plans/q.toml", "evil"));
    said("change settings", append(".candor/settings".into()));
    said("change source", append("src/lib.rs".into()));
    said("add a file", fs::write("new", ""));
    said("remove a directory", fs::remove_dir_all("config"));
    said("read .env", fs::read(".env"));
    said("read config/.env", fs::read("config/.env"));
    said("read .git/config", fs::read(".git/config"));
    symlink("../.env", "target/env").unwrap();
    said("read .env through a link", fs::read("target/env"));
    said("read .env through /proc", fs::read("/proc/self/cwd/.env"));
    said("hard link to .env", fs::hard_link(".env", "target/env2"));
    said("move .env", fs::rename(".env", "target/env3"));
    said("move what holds one", fs::rename("config", "target/config"));
}

fn own() {
    said("read the key", fs::read(base("own/approval.key")));
    said(
        "read the key from /",
        fs::read(format!(
            "/proc/self/root{}",
            base("own/approval.key").display()
        )),
    );
    said("list", fs::read_dir(base("own")));
    said("list above", fs::read_dir(base("")));
    said("delete the lock", fs::remove_file(base("own/lock")));
    said(
        "restore the checkpoint",
        fs::write(base("own/checkpoint"), "old"),
    );
    said("unrevoke", fs::remove_file(base("own/revoked")));
    said("add a revocation", fs::write(base("own/new"), ""));
    said(
        "link the key",
        fs::hard_link(base("own/approval.key"), "target/key"),
    );
    said("move it all", fs::rename(base("own"), "target/own"));
    said("change a tool", append(base("tool/data")));
    said("read /etc/shadow", File::open("/etc/shadow"));
    said(
        "write /tmp",
        fs::write(format!("/tmp/candor-attack-{}", std::process::id()), ""),
    );
    said("open a device", File::open("/dev/kmsg"));
}

fn processes() {
    let server = std::env::var("SERVER").unwrap();
    let warden = std::os::unix::process::parent_id().to_string();
    for (who, process) in [("server", &server), ("warden", &warden)] {
        said(
            &format!("environment of the {who}"),
            fs::read(format!("/proc/{process}/environ")),
        );
        said(
            &format!("memory of the {who}"),
            File::open(format!("/proc/{process}/mem")),
        );
        said(
            &format!("program of the {who}"),
            fs::read_link(format!("/proc/{process}/exe")),
        );
        let key = base("own/approval.key");
        said(
            &format!("root of the {who}"),
            fs::read(format!("/proc/{process}/root{}", key.display())),
        );
        let ended = Command::new("sh")
            .args(["-c", &format!("kill -9 {process} 2>&1")])
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&ended.stdout).to_lowercase();
        println!(
            "\n> kill the {who}: {}",
            if words.contains("not permitted") {
                "EPERM"
            } else {
                &words
            }
        );
    }
}

fn sockets() {
    let port: u16 = std::env::var("PORT").unwrap().parse().unwrap();
    said("connect over TCP", TcpStream::connect(("127.0.0.1", port)));
    said("listen on TCP", TcpListener::bind("127.0.0.1:0"));
    said(
        "send over UDP",
        UdpSocket::bind("127.0.0.1:0").and_then(|udp| udp.send_to(b"x", ("127.0.0.1", port))),
    );
    said(
        "connect to a local socket",
        UnixStream::connect(base("socket")),
    );
    said("make a local socket", UnixListener::bind("target/socket"));
    said("pair of streams", UnixStream::pair());
    said("pair of datagrams", UnixDatagram::pair());
}

fn allowed() {
    said("read source", fs::read("src/lib.rs"));
    said("read beside .env", fs::read("config/app.toml"));
    said("read the log", fs::read("audit-log.jsonl"));
    said("read HEAD", fs::read(".git/HEAD"));
    said("list the root", fs::read_dir("."));
    said("list config", fs::read_dir("config"));
    said("read a tool", fs::read(base("tool/data")));
    said("write target", fs::write("target/new", "x"));
    said("change target", append("target/old".into()));
    said("make directories", fs::create_dir_all("target/a/b"));
    said(
        "move across directories",
        fs::rename("target/new", "target/a/b/new"),
    );
    said(
        "link across directories",
        fs::hard_link("target/old", "target/a/old"),
    );
    said("remove directories", fs::remove_dir_all("target/a"));
    for name in ["HOME", "TMPDIR"] {
        let home = PathBuf::from(std::env::var(name).unwrap());
        said(name, fs::write(home.join("x"), "x"));
        said(
            &format!("from {name}"),
            fs::rename(home.join("x"), "target/x"),
        );
    }
    said(
        "drop output",
        OpenOptions::new()
            .write(true)
            .truncate(true)
            .open("/dev/null"),
    );
    said("random", File::open("/dev/urandom"));
    said("a child", Command::new("true").status());
    said(
        "a thread",
        std::thread::spawn(|| ())
            .join()
            .map_err(|_| io::ErrorKind::Other.into()),
    );
    said("processors", std::thread::available_parallelism());
}

fn memory() {
    for size in [1, 512] {
        let mut room: Vec<u8> = Vec::new();
        let got = room.try_reserve_exact(size << 20);
        said(
            &format!("{size} MiB"),
            got.map_err(|_| io::ErrorKind::OutOfMemory.into()),
        );
    }
}

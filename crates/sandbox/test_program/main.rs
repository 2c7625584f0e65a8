//! The program that the tests of the sandbox start: its helper, a server that the tests kill, and attacks
//! from inside a sandbox.

// The program fails like a test and prints its findings.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

mod attacks;

use candor_sandbox::{
    Helper, Level, Limits, Network, Resolve, SYSTEM_PATHS, Spec, SystemResolver, helper_main_with,
    probe, start,
};
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["helper", stage] => helper_main_with(stage.parse().unwrap(), Arc::new(TestResolver)),
        ["probe"] => {
            let offer = probe(&helper());
            println!("{}", offer.level);
            for missing in offer.missing {
                println!("{missing}");
            }
            ExitCode::SUCCESS
        }
        ["serve", base, script] => {
            serve(Path::new(base), script);
            ExitCode::SUCCESS
        }
        ["drill", base, port, key, least] => drill(Path::new(base), port, key, least),
        ["attack", name] => {
            attacks::run(name);
            ExitCode::SUCCESS
        }
        _ => panic!("unknown arguments: {arguments:?}"),
    }
}

fn helper() -> Helper {
    Helper {
        program: std::env::current_exe().unwrap(),
        first_args: vec!["helper".into()],
    }
}

/// The system's resolver, and a host of the tests whose address is taken for a public one.
struct TestResolver;

const TEST_HOST: &str = "public.test";
const TEST_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 77));

impl Resolve for TestResolver {
    fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        match host {
            TEST_HOST => Ok(vec![TEST_ADDRESS]),
            _ => SystemResolver.addresses(host),
        }
    }

    fn is_allowed(&self, address: IpAddr) -> bool {
        address == TEST_ADDRESS || SystemResolver.is_allowed(address)
    }
}

/// Runs a shell script in the fixture's root, as a server does.
fn serve(base: &Path, script: &str) {
    let mut read: Vec<PathBuf> = SYSTEM_PATHS.iter().map(PathBuf::from).collect();
    read.push(base.join("work"));
    let spec = Spec {
        argv: ["sh", "-c", script].map(String::from).to_vec(),
        cwd: base.join("work"),
        env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        read,
        write: vec![base.join("work/target")],
        hide: Vec::new(),
        network: Network::Off,
        limits: Limits::default(),
        least: Level::Landlock,
        merge_output: true,
    };
    let mut running = start(&spec, &helper()).unwrap();
    let mut output = running.stdout().unwrap();
    let _ = output.read_to_end(&mut Vec::new());
    let _ = running.wait();
}

/// Runs the escape drill in the fixture's root and prints its lines.
fn drill(base: &Path, port: &str, key: &str, least: &str) -> ExitCode {
    let mut read: Vec<PathBuf> = SYSTEM_PATHS.iter().map(PathBuf::from).collect();
    read.extend([base.join("work"), base.join("tool")]);
    let level = if least == "full" {
        Level::Full
    } else {
        Level::Landlock
    };
    let own = std::process::id().to_string();
    let variables = [
        ("PATH", "/usr/bin:/bin"),
        ("PORT", port),
        ("KEY", key),
        ("SERVER", &own),
    ];
    let mut env: Vec<_> = variables
        .map(|(name, value)| (name.to_owned(), value.into()))
        .into();
    env.push(("BASE".to_owned(), base.into()));
    let spec = Spec {
        argv: vec![base.join("tool/escape").to_str().unwrap().to_owned()],
        cwd: base.join("work"),
        env,
        read,
        write: vec![base.join("work/target")],
        hide: ["own", "work/.env", "work/config/.env"]
            .map(|path| base.join(path))
            .into(),
        network: Network::Off,
        limits: Limits::default(),
        least: level,
        merge_output: true,
    };
    let mut running = start(&spec, &helper()).unwrap();
    assert_eq!(running.held().level, level);
    let mut output = String::new();
    running
        .stdout()
        .unwrap()
        .read_to_string(&mut output)
        .unwrap();
    print!("{output}");
    assert_eq!(running.wait().unwrap().exit_code, Some(0));
    ExitCode::SUCCESS
}

//! HTTP with many connections: calls beside idle and slow peers, and the memory of idle ones.

use crate::figures::{SubjectFigures, ratios};
use crate::load::http::{Connection, HttpLoad, PostTarget, get};
use crate::load::{Load, RoundTally};
use crate::machine;
use crate::process::BenchProgram;
use crate::report::terminal::ProgressLine;
use crate::requests::{Case, FIRST_ID};
use crate::rounds::{RoundPlan, SLICE};
use crate::statistics::percentile;
use std::io;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

const ACTIVE: (&str, f64) = (
    "16 active connections beside 2,000 idle ones: times the requests/s without them",
    0.9,
);
const MEMORY: (&str, f64) = ("4,096 idle connections: memory beyond rest", 64.0);
const SLOW: (&str, f64) = (
    "a call beside 600 slow heads and 520 slow bodies: p99",
    50.0,
);

/// The idle connections beside active ones.
const BESIDE: usize = 2_000;

/// The idle connections whose memory is measured: as many as a server accepts.
const MOST: usize = 4_096;

const SLOW_HEADS: usize = 600;

const SLOW_BODIES: usize = 520;

/// The path of the tools.
const PATH: &str = "/mcp";

/// Servers close connections that have been idle for a minute, so these ask again before.
const REFRESH: Duration = Duration::from_secs(20);

/// The calls of a round beside slow peers, each on a connection of its own.
const CALLS: u64 = 500;

/// Servers close slow peers after ten seconds: a round of calls ends before.
const LONGEST: Duration = Duration::from_secs(5);

/// Files of a process beside its connections.
const OTHER_FILES: usize = 200;

/// Measures a server of the playground.
pub(crate) fn measure(
    program: &BenchProgram,
    plan: RoundPlan,
    findings: &mut SubjectFigures,
    progress: &mut ProgressLine,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    // A server uses half of its files for connections.
    if machine::open_files() < 2 * MOST.max(BESIDE + OTHER_FILES) as u64 {
        let reason = Err("too few open files are permitted");
        findings.at_least(ACTIVE.0, ACTIVE.1, "×", reason);
        findings.at_most(MEMORY.0, MEMORY.1, "MB", reason);
        findings.at_most(SLOW.0, SLOW.1, "ms", reason);
        return Ok(());
    }
    active(program, plan, findings, progress, &runtime)?;
    memory(program, plan, findings, progress, &runtime)?;
    beside_slow(program, plan, findings, progress, &runtime)
}

/// Peers that have got an answer and ask nothing more.
struct IdlePeers {
    streams: Vec<TcpStream>,
    refreshed: Instant,
}

impl IdlePeers {
    async fn open(address: &str, many: usize) -> io::Result<Self> {
        let mut peers = IdlePeers {
            streams: Vec::with_capacity(many),
            refreshed: Instant::now(),
        };
        for _ in 0..many {
            peers.streams.push(TcpStream::connect(address).await?);
        }
        peers.refresh(address).await?;
        Ok(peers)
    }

    /// Sends one request on each connection. Fails if the server has closed one.
    async fn refresh(&mut self, address: &str) -> io::Result<()> {
        for stream in &mut self.streams {
            get(stream, address, "/health").await?;
        }
        self.refreshed = Instant::now();
        Ok(())
    }
}

/// Measures two servers in turns, one with idle peers.
fn active(
    program: &BenchProgram,
    plan: RoundPlan,
    findings: &mut SubjectFigures,
    progress: &mut ProgressLine,
    runtime: &Runtime,
) -> io::Result<()> {
    let mut loads = [HttpLoad::new(program, PATH)?, HttpLoad::new(program, PATH)?];
    let address = loads[1].address().to_owned();
    let mut peers = runtime.block_on(IdlePeers::open(&address, BESIDE))?;
    for load in &mut loads {
        load.slice(Case::Success, SLICE, &mut RoundTally::default())?;
    }
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for round in 1..=plan.rounds {
        progress.say(&format!(
            "http beside {BESIDE} idle connections: round {round} of {}",
            plan.rounds
        ));
        let mut tallies = [RoundTally::default(), RoundTally::default()];
        for turn in 0..plan.turns() as usize {
            if peers.refreshed.elapsed() > REFRESH {
                runtime.block_on(peers.refresh(&address))?;
            }
            // Each goes first every second time.
            for which in [turn % 2, (turn + 1) % 2] {
                loads[which].slice(Case::Success, plan.slice(), &mut tallies[which])?;
            }
        }
        let [of_alone, of_crowded] = tallies.map(|tally| tally.round().per_second);
        without.push(of_alone);
        with.push(of_crowded);
    }
    // All of them are still served.
    runtime.block_on(peers.refresh(&address))?;
    let found = ratios(&with, &without);
    findings.at_least(ACTIVE.0, ACTIVE.1, "×", Ok(&found));
    findings.note("16 active connections", "requests/s", &without);
    let what = "16 active connections beside 2,000 idle ones";
    findings.note(what, "requests/s", &with);
    Ok(())
}

/// Measures a new server in each round.
fn memory(
    program: &BenchProgram,
    plan: RoundPlan,
    findings: &mut SubjectFigures,
    progress: &mut ProgressLine,
    runtime: &Runtime,
) -> io::Result<()> {
    let (mut beyond, mut rest) = (Vec::new(), Vec::new());
    for round in 1..=plan.rounds {
        progress.say(&format!(
            "{MOST} idle connections: round {round} of {}",
            plan.rounds
        ));
        let (process, address) = program.listen()?;
        // The first request starts what every later one uses.
        drop(runtime.block_on(IdlePeers::open(&address, 1))?);
        let before = process.memory()?.resident_mb;
        let mut peers = runtime.block_on(IdlePeers::open(&address, MOST))?;
        beyond.push(process.memory()?.resident_mb - before);
        rest.push(before);
        // All of them are still served.
        runtime.block_on(peers.refresh(&address))?;
    }
    findings.at_most(MEMORY.0, MEMORY.1, "MB", Ok(&beyond));
    findings.note("a server at rest: resident", "MB", &rest);
    Ok(())
}

/// Measures calls on new connections, beside peers that have sent half a head or half a body.
fn beside_slow(
    program: &BenchProgram,
    plan: RoundPlan,
    findings: &mut SubjectFigures,
    progress: &mut ProgressLine,
    runtime: &Runtime,
) -> io::Result<()> {
    let (mut half, mut slowest) = (Vec::new(), Vec::new());
    for round in 1..=plan.rounds {
        progress.say(&format!(
            "http beside slow peers: round {round} of {}",
            plan.rounds
        ));
        let (_process, address) = program.listen()?;
        let mut all = runtime.block_on(call_beside_slow(&address))?;
        half.push(percentile(&mut all, 50));
        slowest.push(percentile(&mut all, 99));
    }
    findings.at_most(SLOW.0, SLOW.1, "ms", Ok(&slowest));
    let what = "a call on a new connection beside slow peers: p50";
    findings.note(what, "ms", &half);
    Ok(())
}

/// Returns how long each call took from its connect to its answer, in milliseconds.
async fn call_beside_slow(address: &str) -> io::Result<Vec<f64>> {
    let target = PostTarget {
        address: address.to_owned(),
        path: PATH,
        token: None,
    };
    let mut request = target.request(Case::Success);
    let whole = request.with_id(FIRST_ID).to_owned();
    let body = memchr::memmem::find(&whole, b"\r\n\r\n").unwrap_or_default();
    let heads = std::iter::repeat_n(&whole[..body / 2], SLOW_HEADS);
    let bodies = std::iter::repeat_n(&whole[..(body + whole.len()) / 2], SLOW_BODIES);
    let mut slow = Vec::new();
    for part in heads.chain(bodies) {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(part).await?;
        slow.push(stream);
    }
    let opened = Instant::now();
    let mut all = Vec::new();
    for call in 1..=CALLS {
        let started = Instant::now();
        let stream = TcpStream::connect(address).await?;
        let mut connection = Connection::new(stream, FIRST_ID + call)?;
        connection.once(&mut request, Case::Success.mark()).await?;
        all.push(started.elapsed().as_secs_f64() * 1e3);
        if opened.elapsed() > LONGEST {
            break;
        }
    }
    drop(slow);
    Ok(all)
}

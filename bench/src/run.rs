//! The whole benchmark: starts the programs, runs the rounds, reports.

use crate::arguments::{BenchOptions, BenchPart};
use crate::bars::{BARE, BARE_PIPES, BESIDE, Bar, CANDOR, GITHUB, HTTP, STDIO};
use crate::connections;
use crate::context;
use crate::load::Load;
use crate::load::http::HttpLoad;
use crate::load::stdio::StdioLoad;
use crate::local_forge::reading::ReadFixture;
use crate::local_forge::{self, large_tree};
use crate::machine::{self, Machine};
use crate::orders::{self, CandorBuild};
use crate::process::{BenchProgram, MemoryUse};
use crate::record;
use crate::report::terminal::ProgressLine;
use crate::report::{self, BenchReport};
use crate::requests::Case;
use crate::rounds::{Contender, RoundPlan, alternate};
use crate::startup::startup;
use crate::workspace;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// The number of times that the program is started.
const STARTS: u32 = 20;

/// Measures and reports. Returns false if bars are enforced and one is missed.
pub(crate) fn run(options: &BenchOptions) -> io::Result<bool> {
    let files = Executables::of(options)?;
    machine::raise_open_files();
    let plan = RoundPlan {
        rounds: options.rounds(),
        round: options.round(),
    };
    let version = files.candor(&[]).version()?;
    let mut report = BenchReport::new(Machine::look(version), plan);
    let mut progress = ProgressLine::default();
    if options.wants(BenchPart::Start) {
        progress.say("starting");
        report.start_ms = startup(&files.candor(&["playground".into()]), STARTS)?;
    }
    if options.wants(BenchPart::Stdio) {
        let bare = [(BARE, "bare-stdio"), (BARE_PIPES, "bare-pipes")];
        let arguments = [OsString::from("playground")];
        let loads = files.contenders(&bare, &arguments, |program| {
            Ok(Box::new(StdioLoad::new(program)?))
        })?;
        measure(
            &mut report,
            (STDIO, Case::PLAYGROUND),
            loads,
            plan,
            &mut progress,
        )?;
    }
    if options.wants(BenchPart::Http) {
        let arguments = ["playground", "--http", "--port", "0"].map(OsString::from);
        let loads = files.contenders(&[(BARE, "bare-http")], &arguments, |program| {
            Ok(Box::new(HttpLoad::new(program, "/mcp")?))
        })?;
        measure(
            &mut report,
            (HTTP, Case::PLAYGROUND),
            loads,
            plan,
            &mut progress,
        )?;
    }
    if options.wants(BenchPart::Github) {
        let data = tempfile::tempdir()?;
        let arguments = local_forge::serving(data.path());
        let loads = files.contenders(&[(BARE, "bare-http")], &arguments, |program| {
            Ok(Box::new(HttpLoad::new(program, "/mcp")?))
        })?;
        measure(
            &mut report,
            (GITHUB, Case::GITHUB),
            loads,
            plan,
            &mut progress,
        )?;
        progress.say("get_tree of 100,000 entries");
        report.tree = Some(large_tree::large_tree(&files.candor, data.path())?);
    }
    if options.wants(BenchPart::Github) {
        let fixture = ReadFixture::create(&files.candor)?;
        for case in Case::SAME_BYTES {
            let bare = fixture.bare_arguments(&files.candor, *case)?;
            let mut loads = files.running(&[(BARE, bare)], &fixture.arguments(), |program| {
                Ok(Box::new(HttpLoad::new(program, "/mcp")?))
            })?;
            let cases = std::slice::from_ref(case);
            let series = alternate(GITHUB, cases, &mut loads, plan, |what| progress.say(what))?;
            report.series.extend(series);
        }
    }
    if options.wants(BenchPart::LocalForge) {
        let findings = &mut report.local_forge;
        local_forge::measure(&files.candor, options, findings, &mut progress)?;
    }
    if options.wants(BenchPart::Connections) {
        let arguments = ["playground", "--http", "--port", "0"].map(OsString::from);
        let program = files.candor(&arguments);
        connections::measure(&program, plan, &mut report.connections, &mut progress)?;
    }
    if BenchPart::CONTEXT.iter().any(|part| options.wants(*part)) {
        report.context = context::measure(&files.candor, &files.bench, options, &mut progress)?;
    }
    if options.wants(BenchPart::Log) {
        record::appending(options, &mut report.record, &mut progress)?;
    }
    if options.wants(BenchPart::Workspace) {
        record::writing(options, &mut report.record, &mut progress)?;
    }
    if options.wants(BenchPart::WorkspaceCommands) {
        let programs = (files.candor.as_path(), files.bench.as_path());
        workspace::measure(programs, options, &mut report.workspace, &mut progress)?;
    }
    if BenchPart::ORDERS.iter().any(|part| options.wants(*part)) {
        let sides = (files.bench.as_path(), &*files.sides());
        orders::measure(sides, options, plan, &mut report, &mut progress)?;
    }
    drop(progress);
    report.judge();
    report::terminal::print(&report);
    if let Some(file) = &options.json {
        report::json::write(&report, file)?;
    }
    if let Some(file) = &options.write {
        report::page::write(&report, options.part().as_deref(), file)?;
    }
    Ok(!options.enforce || !report.bars.iter().any(Bar::missed))
}

fn measure(
    report: &mut BenchReport,
    (transport, cases): (&'static str, &[Case]),
    mut contenders: Vec<Contender>,
    plan: RoundPlan,
    progress: &mut ProgressLine,
) -> io::Result<()> {
    let series = alternate(transport, cases, &mut contenders, plan, |what| {
        progress.say(what);
    })?;
    report.series.extend(series);
    let own = contenders.iter().find(|contender| contender.name == CANDOR);
    if let Some(own) = own {
        let memory: MemoryUse = own.load.process().memory()?;
        report.memory.push((transport, memory));
    }
    Ok(())
}

/// The executables.
struct Executables {
    bench: PathBuf,
    candor: PathBuf,
    beside: Option<PathBuf>,
}

impl Executables {
    fn of(options: &BenchOptions) -> io::Result<Self> {
        let bench = std::env::current_exe()?;
        let candor = options.candor.clone();
        Ok(Executables {
            candor: candor.unwrap_or_else(|| bench.with_file_name("candor")),
            beside: options.beside.clone(),
            bench,
        })
    }

    /// Returns the builds of candor.
    fn sides(&self) -> Vec<CandorBuild<'_>> {
        let named = |name, file| CandorBuild { name, file };
        let beside = self.beside.as_deref().map(|file| named(BESIDE, file));
        [named(CANDOR, self.candor.as_path())]
            .into_iter()
            .chain(beside)
            .collect()
    }

    fn candor(&self, arguments: &[OsString]) -> BenchProgram {
        BenchProgram {
            name: CANDOR,
            file: self.candor.clone(),
            arguments: arguments.to_vec(),
            bare: false,
        }
    }

    /// Starts everything that is compared.
    fn contenders(
        &self,
        bare: &[(&'static str, &'static str)],
        arguments: &[OsString],
        load: impl Fn(&BenchProgram) -> io::Result<Box<dyn Load>>,
    ) -> io::Result<Vec<Contender>> {
        let bare = bare.iter();
        let bare = bare.map(|(name, command)| (*name, vec![OsString::from(command)]));
        self.running(&bare.collect::<Vec<_>>(), arguments, load)
    }

    /// As [`Executables::contenders`], with more arguments of the bare programs.
    fn running(
        &self,
        bare: &[(&'static str, Vec<OsString>)],
        arguments: &[OsString],
        load: impl Fn(&BenchProgram) -> io::Result<Box<dyn Load>>,
    ) -> io::Result<Vec<Contender>> {
        let bare = bare.iter().map(|(name, arguments)| BenchProgram {
            name,
            file: self.bench.clone(),
            arguments: arguments.clone(),
            bare: true,
        });
        let own = self.candor(arguments);
        let beside = self.beside.clone().map(|file| BenchProgram {
            name: BESIDE,
            file,
            ..own.clone()
        });
        let programs = bare.chain([own]).chain(beside);
        let running = programs.map(|program| {
            Ok(Contender {
                name: program.name,
                load: load(&program)?,
            })
        });
        running.collect()
    }
}

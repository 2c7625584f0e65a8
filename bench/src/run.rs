//! The whole benchmark: starts the programs, runs the rounds, reports.

use crate::arguments::{Options, Part};
use crate::bars::{BARE, BARE_PIPES, BESIDE, Bar, CANDOR, GITHUB, HTTP, STDIO};
use crate::context;
use crate::github;
use crate::load::Load;
use crate::load::http::HttpLoad;
use crate::load::stdio::StdioLoad;
use crate::machine::Machine;
use crate::orders::{self, Side};
use crate::process::{Memory, Program};
use crate::record;
use crate::report::terminal::Progress;
use crate::report::{self, Report};
use crate::requests::Case;
use crate::rounds::{Contender, Plan, alternate};
use crate::startup::startup;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// How many times the program is started.
const STARTS: u32 = 20;

/// Measures and reports; says whether the bars that were asked for are met.
pub(crate) fn run(options: &Options) -> io::Result<bool> {
    let files = Files::of(options)?;
    let plan = Plan {
        rounds: options.rounds(),
        round: options.round(),
    };
    let version = files.candor(&[]).version()?;
    let mut report = Report::new(Machine::look(version), plan);
    let mut progress = Progress::default();
    if options.wants(Part::Start) {
        progress.say("starting");
        report.start_ms = startup(&files.candor(&["playground".into()]), STARTS)?;
    }
    if options.wants(Part::Stdio) {
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
    if options.wants(Part::Http) {
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
    if options.wants(Part::Github) {
        let data = tempfile::tempdir()?;
        let arguments = github::serving(data.path());
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
        report.tree = Some(github::large_tree(&files.candor, data.path())?);
    }
    if options.wants(Part::Context) {
        report.context = context::measure(&files.candor, &files.bench, options, &mut progress)?;
    }
    if options.wants(Part::Log) {
        record::appending(options, &mut report.record, &mut progress)?;
    }
    if options.wants(Part::Workspace) {
        record::writing(options, &mut report.record, &mut progress)?;
    }
    if options.wants(Part::Orders) {
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
        report::page::write(&report, file)?;
    }
    Ok(!options.enforce || !report.bars.iter().any(Bar::missed))
}

fn measure(
    report: &mut Report,
    (transport, cases): (&'static str, &[Case]),
    mut contenders: Vec<Contender>,
    plan: Plan,
    progress: &mut Progress,
) -> io::Result<()> {
    let series = alternate(transport, cases, &mut contenders, plan, |what| {
        progress.say(what);
    })?;
    report.series.extend(series);
    let own = contenders.iter().find(|contender| contender.name == CANDOR);
    if let Some(own) = own {
        let memory: Memory = own.load.process().memory()?;
        report.memory.push((transport, memory));
    }
    Ok(())
}

/// The executables.
struct Files {
    bench: PathBuf,
    candor: PathBuf,
    beside: Option<PathBuf>,
}

impl Files {
    fn of(options: &Options) -> io::Result<Self> {
        let bench = std::env::current_exe()?;
        let candor = options.candor.clone();
        Ok(Files {
            candor: candor.unwrap_or_else(|| bench.with_file_name("candor")),
            beside: options.beside.clone(),
            bench,
        })
    }

    /// The builds of candor.
    fn sides(&self) -> Vec<Side<'_>> {
        let named = |name, file| Side { name, file };
        let beside = self.beside.as_deref().map(|file| named(BESIDE, file));
        [named(CANDOR, self.candor.as_path())]
            .into_iter()
            .chain(beside)
            .collect()
    }

    fn candor(&self, arguments: &[OsString]) -> Program {
        Program {
            name: CANDOR,
            file: self.candor.clone(),
            arguments: arguments.to_vec(),
            bare: false,
        }
    }

    /// Everything that is compared, running.
    fn contenders(
        &self,
        bare: &[(&'static str, &'static str)],
        arguments: &[OsString],
        load: impl Fn(&Program) -> io::Result<Box<dyn Load>>,
    ) -> io::Result<Vec<Contender>> {
        let bare = bare.iter().map(|(name, command)| Program {
            name,
            file: self.bench.clone(),
            arguments: vec![OsString::from(command)],
            bare: true,
        });
        let own = self.candor(arguments);
        let beside = self.beside.clone().map(|file| Program {
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

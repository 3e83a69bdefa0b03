//! The threads that make the load: each with a runtime and connections of its own. Opened once,
//! then told to load for one stretch after the other, so that two servers can take turns.

use crate::connection::Connection;
use crate::drive::drive;
use crate::error::BenchError;
use crate::h2::Multiplexed;
use crate::limits::DURATION_MAX;
use crate::plan::{End, HttpVersion, Plan, Target};
use crate::run::{Run, Signals, Times};
use crate::stream::Door;
use crate::tally::Tally;
use crate::usage::{self, Processes, Usage};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{JoinSet, LocalSet};

/// A load on one server: its connections are open.
#[derive(Debug)]
pub struct Load {
    plan: Arc<Plan>,
    signals: Arc<Signals>,
    threads: Vec<Thread>,
    /// How long the slowest connection took to be opened and greeted.
    pub opened_in: Duration,
    processes: Option<Processes>,
    /// How long all stretches until now were counted.
    measured: Duration,
}

#[derive(Debug)]
struct Thread {
    orders: Sender<Times>,
    reports: mpsc::Receiver<Report>,
    handle: JoinHandle<()>,
}

/// What a thread says.
enum Report {
    /// Its connections are open, and these process groups were started for them.
    Opened(Result<BTreeSet<u32>, BenchError>),
    /// A stretch is over.
    Done(Box<Tally>, Result<(), BenchError>),
}

/// What one stretch of a run came to.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// What was counted.
    pub tally: Tally,
    /// From when answers counted to when nothing was sent any more, or the last answer.
    pub took: Duration,
    /// What the server used meanwhile, if it is on this machine.
    pub(crate) server: Option<Used>,
    /// What the load used: where that is near its threads, it may be what was measured.
    pub(crate) load_cpu: Duration,
    /// Why it ended before its time.
    pub ended: Option<BenchError>,
}

impl Stretch {
    /// Puts a later stretch of the same load behind this one.
    pub(crate) fn add(&mut self, later: Self) {
        self.tally.add(later.tally);
        self.took += later.took;
        self.load_cpu += later.load_cpu;
        self.server = match (self.server, later.server) {
            (Some(before), Some(after)) => Some(Used {
                cpu: before.cpu + after.cpu,
                memory_before: before.memory_before,
                memory_after: after.memory_after,
            }),
            (before, after) => before.or(after),
        };
        self.ended = self.ended.take().or(later.ended);
    }
}

/// What a server used in a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) cpu: Duration,
    pub(crate) memory_before: u64,
    pub(crate) memory_after: u64,
}

/// What server and load have used until a moment.
type Look = (Option<Usage>, Usage);

/// What they had when answers began to count, and when they no longer did: what is on its way then
/// is waited for, and not counted.
#[derive(Default)]
struct Looks {
    before: Option<Look>,
    after: Option<Look>,
}

/// How a run is going.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Since the stretch began, warming up included.
    pub elapsed: Duration,
    /// Good answers until now.
    pub answers: u64,
    /// Wrong or missing ones.
    pub failures: u64,
}

/// How often whoever watches is told.
const TICK: Duration = Duration::from_millis(200);

impl Load {
    /// Opens all connections.
    ///
    /// # Errors
    /// [`BenchError`] of the first connection that cannot be opened, or of a plan that cannot be.
    pub fn open(plan: Plan) -> Result<Self, BenchError> {
        plan.check()?;
        more_descriptors();
        let began = Instant::now();
        let (plan, signals) = (Arc::new(plan), Arc::new(Signals::default()));
        let door = Door::to(&plan.target)?;
        let count = plan.threads.min(plan.load.connections);
        let start = |number| Thread::start(&plan, &door, &signals, number, count);
        let mut threads = (0..count).map(start).collect::<Result<Vec<_>, _>>()?;
        let mut groups = BTreeSet::new();
        let mut failed = None;
        for thread in &threads {
            match thread.reports.recv() {
                Ok(Report::Opened(Ok(opened))) => groups.extend(opened),
                Ok(Report::Opened(Err(error))) => failed = failed.or(Some(error)),
                _ => failed = Some(BenchError::System("a thread of the load died".to_owned())),
            }
        }
        if let Some(error) = failed {
            close(&mut threads);
            return Err(error);
        }
        let processes = match &plan.target {
            Target::Command(_) => Some(Processes::Groups(groups)),
            Target::Url { uri, .. } => Processes::behind(uri),
        };
        let measured = Duration::ZERO;
        Ok(Self { plan, signals, threads, opened_in: began.elapsed(), processes, measured })
    }

    /// Loads the server for one stretch, and tells `watch` how it goes several times a second; it
    /// says whether to go on.
    pub fn stretch(
        &mut self,
        warmup: Duration,
        end: End,
        watch: &mut dyn FnMut(Progress) -> bool,
    ) -> Stretch {
        self.signals.stop.store(false, Ordering::Relaxed);
        self.signals.answers.store(0, Ordering::Relaxed);
        self.signals.failures.store(0, Ordering::Relaxed);
        let start = Instant::now();
        let from = start + warmup;
        let (end, left, is_counted) = match end {
            End::After(time) => (from + time, 0, false),
            End::Answers(count) => (from + DURATION_MAX, count, true),
        };
        let times = Times { start, from, end, is_counted, measured: self.measured };
        self.signals.left.store(left, Ordering::Relaxed);
        for thread in &self.threads {
            // A thread that is gone says so below.
            _ = thread.orders.try_send(times);
        }
        let mut looks = Looks::default();
        let mut tally = Tally::new(self.plan.asks.len(), times);
        let mut ended = None;
        for at in 0..self.threads.len() {
            let (done, result) = self.wait(at, times, &mut looks, watch);
            tally.add(done);
            ended = ended.or_else(|| result.err());
        }
        let (server_after, load_after) = looks.after.unwrap_or_else(|| self.look());
        let (server_before, load_before) =
            looks.before.unwrap_or_else(|| (server_after.clone(), load_after.clone()));
        // What came after the end was in time for its latency, and too late for the rate.
        let last = tally.last().unwrap_or(from).min(end);
        let is_cut = is_counted || self.signals.stop.load(Ordering::Relaxed);
        let took = (if is_cut { last } else { end }).saturating_duration_since(from);
        self.measured += took;
        // Of processes that took the place of others nobody knows what they used before.
        let is_whole = match &self.processes {
            Some(Processes::Groups(groups)) => tally.connections <= groups.len() as u64,
            _ => true,
        };
        let server_before = server_before.filter(|_| is_whole);
        Stretch {
            took,
            server: server_before.zip(server_after).map(|(before, after)| Used {
                cpu: after.cpu_since(&before),
                memory_before: before.memory_bytes,
                memory_after: after.memory_bytes,
            }),
            load_cpu: load_after.cpu_since(&load_before),
            tally,
            ended,
        }
    }

    /// Waits for one thread; meanwhile looks what is used, and tells how it goes.
    fn wait(
        &self,
        at: usize,
        times: Times,
        looks: &mut Looks,
        watch: &mut dyn FnMut(Progress) -> bool,
    ) -> (Tally, Result<(), BenchError>) {
        let Times { start, from, end, .. } = times;
        loop {
            self.tell(start, watch);
            let now = Instant::now();
            let mut tick = TICK;
            for (look, due) in [(&mut looks.before, from), (&mut looks.after, end)] {
                match due.saturating_duration_since(now) {
                    Duration::ZERO => _ = look.get_or_insert_with(|| self.look()),
                    left => tick = tick.min(left),
                }
            }
            match self.threads[at].reports.recv_timeout(tick) {
                Ok(Report::Done(tally, result)) => return (*tally, result),
                Ok(Report::Opened(_)) => {}
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let died = BenchError::System("a thread of the load died".to_owned());
                    return (Tally::new(self.plan.asks.len(), times), Err(died));
                }
            }
        }
    }

    fn tell(&self, start: Instant, watch: &mut dyn FnMut(Progress) -> bool) {
        let progress = Progress {
            elapsed: start.elapsed(),
            answers: self.signals.answers.load(Ordering::Relaxed),
            failures: self.signals.failures.load(Ordering::Relaxed),
        };
        if !watch(progress) {
            self.signals.stop.store(true, Ordering::Relaxed);
        }
    }

    fn look(&self) -> Look {
        (self.processes.as_ref().and_then(Processes::usage), usage::own())
    }

    /// Ends all connections in an orderly way, as dropping it does.
    pub fn close(self) {}
}

/// A child that ignores the end of its stdin is waited for, and then killed.
impl Drop for Load {
    fn drop(&mut self) {
        close(&mut self.threads);
    }
}

fn close(threads: &mut Vec<Thread>) {
    for Thread { orders, handle, reports } in threads.drain(..) {
        drop((orders, reports));
        // A thread that died has said so.
        _ = handle.join();
    }
}

/// Asks the system for as many descriptors as it gives: a connection has one, with a schedule two,
/// and a child three. Where it refuses, opening says that there are too many.
fn more_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit { current: limit.maximum, ..limit };
    _ = setrlimit(Resource::Nofile, most);
}

impl Thread {
    fn start(
        plan: &Arc<Plan>,
        door: &Door,
        signals: &Arc<Signals>,
        number: usize,
        count: usize,
    ) -> Result<Self, BenchError> {
        let (orders, ordered) = channel(1);
        let (report, reports) = mpsc::sync_channel(1);
        let (plan, door, signals) = (Arc::clone(plan), door.clone(), Arc::clone(signals));
        let work = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => {
                    let error = BenchError::System(error.to_string());
                    _ = report.send(Report::Opened(Err(error)));
                    return;
                }
            };
            let numbers = (number..plan.load.connections).step_by(count);
            let run = Rc::new(Run::new(plan, door, signals, Instant::now()));
            LocalSet::new().block_on(&runtime, work(run, numbers.collect(), ordered, report));
            runtime.shutdown_background();
        };
        let spawned = std::thread::Builder::new().name(format!("load {number}")).spawn(work);
        let handle = spawned.map_err(|error| BenchError::System(error.to_string()))?;
        Ok(Self { orders, reports, handle })
    }
}

/// Either kind of connection.
enum Any {
    Bytes(Box<Connection>),
    Multiplexed(Box<Multiplexed>),
}

impl Any {
    async fn open(run: &Run) -> Result<Self, BenchError> {
        match run.plan.target {
            Target::Url { version: HttpVersion::Two, .. } => {
                let opened = Multiplexed::open(&run.plan, &run.door).await?;
                Ok(Self::Multiplexed(Box::new(opened)))
            }
            _ => Ok(Self::Bytes(Box::new(Connection::open(&run.plan, &run.door).await?))),
        }
    }

    async fn drive(&mut self, run: &Run, number: usize) -> Result<(), BenchError> {
        match self {
            Self::Bytes(connection) => drive(connection, run, number).await,
            Self::Multiplexed(connection) => connection.drive(run, number).await,
        }
    }

    fn group(&self) -> Option<u32> {
        match self {
            Self::Bytes(connection) => connection.bytes.stream.group(),
            Self::Multiplexed(_) => None,
        }
    }

    async fn close(self) {
        match self {
            Self::Bytes(connection) => connection.close().await,
            Self::Multiplexed(connection) => connection.close().await,
        }
    }
}

/// How many connections a thread opens at once.
const OPENING_MAX: usize = 32;

/// One thread's work, from opening to closing.
async fn work(
    run: Rc<Run>,
    numbers: Vec<usize>,
    mut ordered: Receiver<Times>,
    report: mpsc::SyncSender<Report>,
) {
    let mut connections = match open_all(&run, &numbers).await {
        Ok(connections) => connections,
        Err(error) => {
            _ = report.send(Report::Opened(Err(error)));
            return;
        }
    };
    let groups = connections.iter().filter_map(|(_, connection)| connection.group()).collect();
    _ = report.send(Report::Opened(Ok(groups)));
    let mut opened = connections.len() as u64;
    while let Some(times) = ordered.recv().await {
        run.begin(times);
        // Those that are still open were counted when they were.
        run.tally.borrow_mut().connections = std::mem::take(&mut opened);
        let mut driving = JoinSet::new();
        for (number, mut connection) in connections.drain(..) {
            let run = Rc::clone(&run);
            driving.spawn_local(async move {
                let result = connection.drive(&run, number).await;
                if result.is_err() {
                    run.signals.stop.store(true, Ordering::Relaxed);
                }
                (number, connection, result)
            });
        }
        let mut result = Ok(());
        while let Some(driven) = driving.join_next().await {
            match driven {
                Ok((number, connection, driven)) => {
                    result = result.and(driven);
                    connections.push((number, connection));
                }
                Err(error) => {
                    run.signals.stop.store(true, Ordering::Relaxed);
                    result = result.and_then(|()| Err(BenchError::System(error.to_string())));
                }
            }
        }
        let tally = run.begin(times);
        _ = report.send(Report::Done(Box::new(tally), result));
    }
    let mut closing = run.leaving();
    for (_, connection) in connections {
        closing.spawn_local(connection.close());
    }
    while closing.join_next().await.is_some() {}
}

async fn open_all(run: &Rc<Run>, numbers: &[usize]) -> Result<Vec<(usize, Any)>, BenchError> {
    let mut opened = Vec::with_capacity(numbers.len());
    for numbers in numbers.chunks(OPENING_MAX) {
        let open = numbers.iter().map(|_| Any::open(run));
        for (&number, connection) in numbers.iter().zip(futures_util::future::join_all(open).await)
        {
            opened.push((number, connection?));
        }
    }
    Ok(opened)
}

//! What is done to the gateway meanwhile: its children are killed, its file is edited, and clients
//! ask for much, read little and go. Nothing is judged here.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use super::asking::{Client, Era};
use super::chance::Chance;
use super::gate::signal;
use super::ledger::{Count, Ledger};
use super::limits;
use super::stage::Stage;

/// Numbers of those who are no callers, for their chances.
pub(super) const KILLER: u64 = 1_000;
pub(super) const EDITOR: u64 = 1_001;
pub(super) const SLOW: u64 = 1_002;
/// How long a slow reader stands still.
const STALL_MS: u64 = 1_500;

/// Kills children, one after the other.
pub(super) fn kill(stage: &Stage, ledger: &Ledger, seed: u64) {
    let mut chance = Chance::new(seed, KILLER);
    stage.act(|| {
        let children = stage.gate.children();
        let all = stage.upstreams.iter().enumerate().filter_map(|(at, upstream)| {
            let name = &upstream.name;
            let is_its = |words: &str| {
                words.contains(&format!("/{name}.json")) || words.contains(&format!(" {name} "))
            };
            children.iter().find(|(_, words)| is_its(words)).map(|(process, _)| (at, *process))
        });
        let may_be = |(at, _): &(usize, u32)| !stage.upstreams[*at].is_mortal();
        let all: Vec<(usize, u32)> = all.filter(may_be).collect();
        if let Some((at, process)) = chance.pick(&all) {
            stage.strike(*at);
            signal("-KILL", *process);
            stage.strike(*at);
            ledger.add(Count::Kills);
        }
        chance.pause(limits::KILL_MS_MAX)
    });
}

/// Edits the file: the last upstreams come and go, the others are changed.
pub(super) fn edit(stage: &Stage, ledger: &Ledger, seed: u64) {
    let mut chance = Chance::new(seed, EDITOR);
    stage.act(|| {
        let count = stage.upstreams.len();
        let all: Vec<usize> = (0..count).collect();
        // One of those that come and go in half of the cases.
        let some = if chance.below(2) == 0 { &all[count - limits::COMING..] } else { &all[..] };
        if let Some(at) = chance.pick(some).copied() {
            let comes_and_goes = at >= count - limits::COMING;
            let is_there = !comes_and_goes || !stage.there().contains(&at);
            ledger.add(Count::Edits);
            if let Err(why) = stage.edit(at, is_there) {
                ledger.wrong(why);
            }
        }
        chance.pause(limits::EDIT_MS_MAX)
    });
}

/// Asks for the long result, reads a little of it, stands still and goes.
pub(super) fn read_slowly(stage: &Stage, ledger: &Ledger, seed: u64, who: u64) {
    let client = match Client::begin(&stage.gate.address, Era::Modern) {
        Ok(client) => client,
        Err(why) => return ledger.wrong(format!("slow reader {who} does not begin: {why}")),
    };
    let mut chance = Chance::new(seed, SLOW + who);
    stage.act(|| {
        let mut all = stage.there();
        all.retain(|at| stage.upstreams[*at].is_haft());
        if let Some(at) = chance.pick(&all) {
            let tool = format!("{}_long", stage.upstreams[*at].name);
            let request = client.call_request(1, &tool, &json!({}));
            let stall = chance.pause(STALL_MS);
            match begin_to_read(&stage.gate.address, &request, stall) {
                Ok(()) => ledger.add(Count::SlowReads),
                Err(error) => ledger.wrong(format!("a slow reader is not served: {error}")),
            }
        }
        Duration::ZERO
    });
}

fn begin_to_read(address: &str, request: &str, stall: Duration) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(limits::ANSWER))?;
    stream.write_all(request.as_bytes())?;
    stream.read_exact(&mut [0; 64])?;
    super::pause(stall);
    Ok(())
}

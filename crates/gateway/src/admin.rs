//! What whoever runs a gateway may see and do, as JSON values. Asked by who listens for that; opens
//! no door itself.

use crate::gateway::{Kept, Shared, lock};
use crate::told::{LeftOut, Line, Odd, Told, Whose};
use crate::upstream::State;
use haft_client::Connections;
use serde_json::{Value, json};
use std::sync::Arc;

/// See above. Cheap to clone.
#[derive(Clone)]
pub struct Admin(Arc<Shared>);

impl Admin {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        shared.recent.turn_on();
        Self(Arc::clone(shared))
    }

    /// The upstreams in the file's order: how each is doing, and what it has done so far.
    #[must_use]
    pub fn upstreams(&self) -> Value {
        lock(&self.0.kept).iter().map(upstream).collect()
    }

    /// What of upstreams is served, and what is left out and why.
    #[must_use]
    pub fn catalogue(&self) -> Value {
        let Told { served, left_out, odd, .. } = lock(&self.0.told).clone();
        let lines = |lines: Vec<Line>| -> Value {
            let lines = lines.into_iter().map(|Line { upstream, here, there }| {
                json!({"name": here, "upstream": &*upstream, "there": there})
            });
            lines.collect()
        };
        let [tools, resources, templates, prompts] = served.map(lines);
        let dropped = left_out.kept.iter().map(|LeftOut { kind, upstream, name, reason }| {
            json!({"kind": kind, "upstream": &**upstream, "there": name, "reason": reason})
        });
        let warnings = odd.kept.iter().map(|Odd { whose, what }| match whose {
            Whose::Upstream(name) => json!({"upstream": &**name, "what": what}),
            Whose::View(name) => json!({"view": &**name, "what": what}),
        });
        json!({
            "tools": tools,
            "resources": resources,
            "resourceTemplates": templates,
            "prompts": prompts,
            "leftOut": dropped.collect::<Vec<_>>(),
            "leftOutMore": left_out.more,
            "warnings": warnings.collect::<Vec<_>>(),
            "warningsMore": odd.more,
        })
    }

    /// The views of the file: where each is, and the tools that it has now.
    #[must_use]
    pub fn views(&self) -> Value {
        let views = self.0.live.views().into_iter();
        let told = views.map(|(view, server)| {
            json!({"name": view.name, "path": view.path, "tools": server.tool_names()})
        });
        told.collect()
    }

    /// The latest requests that were passed on, the last first, since somebody first asked.
    #[must_use]
    pub fn calls(&self) -> Value {
        self.0.recent.told()
    }

    /// Takes what an upstream has away, so that nothing new is asked of it, or serves it again;
    /// false if there is no such upstream. What is being asked of it is answered.
    #[must_use]
    pub fn drain(&self, name: &str, is_drained: bool) -> bool {
        let mut kept = lock(&self.0.kept);
        let Some(one) = kept.iter_mut().find(|one| one.upstream.name() == name) else {
            return false;
        };
        one.is_drained = is_drained;
        drop(kept);
        self.0.changed.notify_one();
        true
    }
}

fn upstream(one: &Kept) -> Value {
    let upstream = &one.upstream;
    let state = upstream.state();
    let (word, reason) = told(&state);
    let server = upstream.server().map(
        |(name, version, revision)| json!({"name": name, "version": version, "revision": revision}),
    );
    let counts = upstream.counts();
    let connections = upstream.seats.any().and_then(|client| client.connections()).map(|all| {
        let Connections { idle, acquiring, established, closing, closed } = all;
        json!({
            "idle": idle,
            "acquiring": acquiring,
            "established": established,
            "closing": closing,
            "closed": closed,
        })
    });
    let states = upstream.seats.states();
    let instances = states.iter().zip(upstream.seats.counts());
    let instances = instances.map(|(state, (running, restarts))| {
        let (word, reason) = told(state);
        json!({"state": word, "reason": reason, "running": running, "restarts": restarts})
    });
    json!({
        "name": upstream.name(),
        "state": word,
        "reason": reason,
        "drained": one.is_drained,
        "server": server,
        "calls": counts.calls,
        "running": counts.running,
        "failed": counts.failed,
        "restarts": counts.restarts,
        "joined": upstream.alike.joined(),
        "own": upstream.own.count(),
        "connections": connections,
        "instances": instances.collect::<Vec<_>>(),
    })
}

fn told(state: &State) -> (&'static str, Option<&Arc<str>>) {
    match state {
        State::Connecting => ("connecting", None),
        State::Down { reason, .. } => ("down", Some(reason)),
        State::Idle => ("idle", None),
        State::Ready => ("ready", None),
        State::Stopped => ("stopped", None),
    }
}

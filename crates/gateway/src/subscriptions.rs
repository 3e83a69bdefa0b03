//! Clients that watch resources of upstreams: each such resource is watched at its upstream once,
//! however many clients there are and as long as there is one; what changes there is told to those
//! clients. Run by `gateway` for as long as it lives. It reads no resource.

use crate::gateway::{Kept, Shared, lock};
use crate::limits::{LISTENING_TIME_MAX, PATIENCE};
use crate::pause::Pause;
use crate::upstream::Upstream;
use haft_client::{Change, Changes, Client, ClientError, Interest};
use haft_manifest::Live;
use haft_server::{Server, uri_matched};
use std::collections::{BTreeSet, HashMap};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

/// Addresses.
type Uris = Arc<BTreeSet<Arc<str>>>;

/// The line to one upstream; it ends when dropped.
struct Line {
    upstream: Arc<Upstream>,
    wanted: watch::Sender<Uris>,
    task: AbortHandle,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.task.abort();
        self.upstream.watched.store(false, Ordering::Relaxed);
    }
}

/// Keeps the lines that clients need, for ever.
pub(crate) async fn follow(shared: Arc<Shared>) {
    let live = &shared.live;
    let (mut swaps, mut settled) = (live.swaps(), shared.settled.subscribe());
    let mut lines: Vec<Line> = Vec::new();
    loop {
        swaps.mark_unchanged();
        settled.mark_unchanged();
        // Those of the views too, which come and go with what is served.
        let views = live.views();
        let servers = views.iter().map(|(_, server)| &**server).chain([live.server()]);
        let mut interests: Vec<_> = servers.map(Server::interests).collect();
        let watched: BTreeSet<Arc<str>> = live.interest().resources.into_keys().collect();
        let mut wanted = owners(&shared, &watched);
        lines.retain(|line| serves(&shared, &line.upstream).is_some());
        for line in &lines {
            let at = wanted.iter().position(|(one, _)| Arc::ptr_eq(one, &line.upstream));
            let uris = match at {
                Some(at) => wanted.swap_remove(at).1,
                None if serves(&shared, &line.upstream) == Some(true) => BTreeSet::new(),
                // While it is down nothing is known to be another's.
                None => line.wanted.borrow().intersection(&watched).cloned().collect(),
            };
            line.wanted.send_if_modified(|before| {
                let is_other = **before != uris;
                if is_other {
                    *before = Arc::new(uris);
                }
                is_other
            });
        }
        lines.retain(|line| !line.wanted.borrow().is_empty());
        for (upstream, uris) in wanted {
            let (sender, receiver) = watch::channel(Arc::new(uris));
            upstream.watched.store(true, Ordering::Relaxed);
            let listening = listen(Arc::clone(&upstream), receiver, Arc::clone(live));
            let task = tokio::spawn(listening).abort_handle();
            lines.push(Line { upstream, wanted: sender, task });
        }
        tokio::select! {
            () = any_changed(&mut interests) => {}
            changed = swaps.changed() => if changed.is_err() { return },
            changed = settled.changed() => if changed.is_err() { return },
        }
    }
}

/// Waits until clients of one of the servers listen for something else than before.
async fn any_changed(interests: &mut [watch::Receiver<()>]) {
    let mut changed: Vec<_> = interests.iter_mut().map(|one| Box::pin(one.changed())).collect();
    poll_fn(|cx| match changed.iter_mut().any(|one| one.as_mut().poll(cx).is_ready()) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}

/// Whether what it has is served; nothing, if the file has it no more.
fn serves(shared: &Shared, upstream: &Arc<Upstream>) -> Option<bool> {
    let kept = lock(&shared.kept);
    kept.iter().find_map(|kept| {
        // One that was edited is served as it was until it has answered anew.
        let serving = kept.serving().map(|(serving, _)| &serving.upstream);
        let is_it = |one: &Arc<Upstream>| Arc::ptr_eq(one, upstream);
        let is_served = serving.is_some_and(is_it);
        (is_served || is_it(&kept.upstream)).then_some(is_served)
    })
}

/// Whose these are, as they are served; what this server's file has is watched by others.
fn owners(
    shared: &Shared,
    watched: &BTreeSet<Arc<str>>,
) -> Vec<(Arc<Upstream>, BTreeSet<Arc<str>>)> {
    let mut all: Vec<(Arc<Upstream>, BTreeSet<Arc<str>>)> = Vec::new();
    if watched.is_empty() {
        return all;
    }
    let own = shared.live.owned();
    let kept = lock(&shared.kept);
    let offers: Vec<_> = kept.iter().filter_map(Kept::serving).collect();
    let mut listed: HashMap<&str, usize> = HashMap::new();
    for (place, (_, offer)) in offers.iter().enumerate() {
        for (uri, _) in &offer.resources {
            listed.entry(uri).or_insert(place);
        }
    }
    for uri in watched {
        if own.resources.contains(&**uri) {
            continue;
        }
        let of_family = || {
            offers.iter().position(|(_, offer)| {
                let mut families = offer.templates.iter();
                families.any(|(template, _)| uri_matched(template, uri).is_some())
            })
        };
        let Some(place) = listed.get(&**uri).copied().or_else(of_family) else { continue };
        let upstream = &offers[place].0.upstream;
        match all.iter_mut().find(|(one, _)| Arc::ptr_eq(one, upstream)) {
            Some((_, uris)) => _ = uris.insert(Arc::clone(uri)),
            None => all.push((Arc::clone(upstream), BTreeSet::from([Arc::clone(uri)]))),
        }
    }
    all
}

/// Watches these at their upstream, for ever.
async fn listen(upstream: Arc<Upstream>, mut wanted: watch::Receiver<Uris>, live: Arc<Live>) {
    let mut pause = Pause::new(PATIENCE);
    // What was watched before; it is let go once the next is, so that nothing falls between.
    let mut before: Option<Changes> = None;
    // It went away, and what changed meanwhile was not told.
    let mut has_missed = false;
    loop {
        let uris = Arc::clone(&wanted.borrow_and_update());
        let Some(mut line) = begin(&upstream, &uris).await else {
            has_missed = true;
            tokio::select! {
                () = sleep(pause.jittered()) => {}
                changed = wanted.changed() => if changed.is_err() { return },
            }
            pause.over();
            continue;
        };
        drop(before.take());
        let (began, mut has_told) = (Instant::now(), false);
        if std::mem::take(&mut has_missed) {
            uris.iter().for_each(|uri| live.resource_updated(uri));
        }
        loop {
            let change = tokio::select! {
                change = line.next() => change,
                changed = wanted.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    before = Some(line);
                    break;
                }
            };
            upstream.alike.part();
            has_told |= matches!(change, Some(Ok(_)));
            match change {
                Some(Ok(Change::Resource(uri))) => tell(&live, &uris, &uri),
                Some(Ok(Change::Missed)) => {
                    uris.iter().for_each(|uri| live.resource_updated(uri));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => {
                    has_missed = true;
                    // Nor is a server asked at once that ends each stream as it begins.
                    pause.lost(began.elapsed(), has_told);
                    sleep(pause.jittered()).await;
                    pause.over();
                    break;
                }
            }
        }
    }
}

async fn begin(upstream: &Upstream, uris: &Uris) -> Option<Changes> {
    // While it is down there is nobody to ask, and it says so at once.
    let client = upstream.shared().await.ok()?;
    let all = || uris.iter().map(|uri| uri.to_string());
    match watch(&client, all().collect()).await? {
        Err(ClientError::Refused { .. }) if uris.len() > 1 => {}
        begun => return begun.ok(),
    }
    // One that it does not have takes no other along.
    let (mut lines, mut known) = (Vec::new(), Vec::new());
    for uri in all() {
        if let Ok(line) = watch(&client, vec![uri.clone()]).await? {
            lines.push(line);
            known.push(uri);
        }
    }
    watch(&client, known).await?.ok()
}

/// Watches these; nothing if that takes too long.
async fn watch(client: &Client, uris: Vec<String>) -> Option<Result<Changes, ClientError>> {
    let interest = Interest { uris, ..Interest::default() };
    timeout(LISTENING_TIME_MAX, client.listen(interest)).await.ok()
}

/// Tells those who watch it, or something that it is a part of (Resources, "Subscriptions").
fn tell(live: &Live, uris: &Uris, uri: &str) {
    if uris.contains(uri) {
        return live.resource_updated(uri);
    }
    let is_part = |whole: &&Arc<str>| uri.starts_with(&***whole);
    uris.iter().filter(is_part).for_each(|whole| live.resource_updated(whole));
}

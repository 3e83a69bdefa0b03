//! Where what a server says unasked arrives. Changes go to the hub. As to questions, it knows what
//! is offered, asks the answerer, counts, and keeps the time of requests from running while
//! somebody thinks. One for each connection, used by both wires and both eras. It sends nothing.

use crate::answerer::{Answerer, Asker, Consent, Declined, Offers, Visit};
use crate::changes::Hub;
use crate::inquiry::{Inquiry, Unasked, write_roots};
use crate::limits::{
    QUESTIONS_OPEN_MAX, QUESTIONS_PER_REQUEST_MAX, QUESTIONS_SAVED_MAX, VISIT_ID_BYTES_MAX,
    VISIT_TIME_MAX, VISITS_KEPT_MAX,
};
use crate::message::Ask;
use crate::options::Options;
use crate::passing::{Running, Whom};
use crate::patience::{Patience, Rest};
use haft_proto::version::Era;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::sync::watch;
use tokio::time::sleep;

/// Takes a server's questions to whoever answers them.
#[derive(Debug)]
pub(crate) struct Desk {
    answerer: Option<Arc<dyn Answerer>>,
    offers: Offers,
    /// Questions go to whoever made the request that they belong to.
    passes: bool,
    running: Running,
    has_tasks: bool,
    asker: OnceLock<Asker>,
    patience: Arc<Patience>,
    /// How many questions a legacy server may still ask.
    allowance: AtomicUsize,
    /// Visits that are over, by the server's word, the latest last. It may say so before anybody
    /// waits.
    visits_ended: watch::Sender<VecDeque<String>>,
    hub: Hub,
}

impl Desk {
    pub(crate) fn new(options: &Options) -> Self {
        let answerer = options.answerer.clone();
        Self {
            offers: match (&answerer, options.passes) {
                (Some(answerer), _) => answerer.offers(),
                (None, true) => Offers::ALL,
                (None, false) => Offers::default(),
            },
            passes: options.passes && answerer.is_none(),
            running: Running::default(),
            answerer,
            has_tasks: options.tasks,
            asker: OnceLock::new(),
            patience: Patience::new(),
            allowance: AtomicUsize::new(QUESTIONS_PER_REQUEST_MAX),
            visits_ended: watch::Sender::default(),
            hub: Hub::default(),
        }
    }

    /// The server has said who it is.
    pub(crate) fn met(&self, asker: Asker) {
        self.asker.get_or_init(|| asker);
    }

    pub(crate) fn offers(&self) -> Offers {
        self.offers
    }

    /// Where changes go.
    pub(crate) fn hub(&self) -> &Hub {
        &self.hub
    }

    /// The requests that run over this connection.
    pub(crate) fn running(&self) -> &Running {
        &self.running
    }

    /// Who is asked what comes on the stream of a request, or on one that belongs to none.
    pub(crate) fn whom(&self, ask: Option<&Ask>) -> Whom {
        match ask {
            _ if !self.passes => Whom::Answerer,
            Some(ask) => ask.inquirer.clone().map_or(Whom::Nobody, Whom::Inquirer),
            None => self.running.whom(),
        }
    }

    /// Whether whoever uses this client answers questions.
    pub(crate) fn answers(&self) -> bool {
        self.answerer.is_some()
    }

    /// The time of requests.
    pub(crate) fn patience(&self) -> &Arc<Patience> {
        &self.patience
    }

    /// Whether a call may become a task.
    pub(crate) fn has_tasks(&self) -> bool {
        self.has_tasks
    }

    /// What the server is told that this client can do: a JSON object.
    pub(crate) fn capabilities(&self, era: Era) -> String {
        // Each request says to a modern server what its own client can do.
        let is_said_each_time = self.passes && era == Era::Modern;
        let offers = if is_said_each_time { Offers::default() } else { self.offers };
        let Offers { forms, visits, sampling, sampling_tools, roots } = offers;
        let list = |members: &[(bool, &str)]| {
            let on = members.iter().filter(|(is_on, _)| *is_on).map(|(_, text)| *text);
            format!("{{{}}}", on.collect::<Vec<_>>().join(","))
        };
        let modes = list(&[(forms, r#""form":{}"#), (visits, r#""url":{}"#)]);
        let tools = list(&[(sampling_tools, r#""tools":{}"#)]);
        list(&[
            (forms || visits, &format!(r#""elicitation":{modes}"#)),
            (sampling, &format!(r#""sampling":{tools}"#)),
            (roots, r#""roots":{}"#),
            (
                self.has_tasks && era == Era::Modern,
                r#""extensions":{"io.modelcontextprotocol/tasks":{}}"#,
            ),
        ])
    }

    /// Asks the answerer; JSON text of the result.
    pub(crate) async fn answer(&self, inquiry: &Inquiry) -> Result<String, Declined> {
        let Some(answerer) = &self.answerer else {
            return Err(Unasked::NotOffered("this".to_owned()).into());
        };
        let stranger = Asker::default();
        let asker = self.asker.get().unwrap_or(&stranger);
        match inquiry {
            Inquiry::Form(form) => Ok(answerer.fill(asker, form).await.into()),
            Inquiry::Visit(visit) => Ok(answerer.visit(asker, visit).await.into()),
            Inquiry::Sample(request) => {
                answerer.sample(asker, request).await.map(|message| message.get().to_owned())
            }
            Inquiry::Roots => answerer.roots(asker).await.map(|roots| write_roots(&roots)),
        }
    }

    /// A visit without which a legacy server refuses a request; true once the request may be sent
    /// again.
    pub(crate) async fn visit(&self, visit: &Visit) -> bool {
        let Some(answerer) = &self.answerer else { return false };
        let stranger = Asker::default();
        let asker = self.asker.get().unwrap_or(&stranger);
        if answerer.visit(asker, visit).await != Consent::Accepted {
            return false;
        }
        let mut ended = self.visits_ended.subscribe();
        let is_over = async {
            match &visit.id {
                Some(id) => _ = ended.wait_for(|ended| ended.contains(id)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = is_over => true,
            goes_on = answerer.visited(asker, visit) => goes_on,
            () = sleep(VISIT_TIME_MAX) => false,
        }
    }

    /// The server says that a visit is over.
    pub(crate) fn visit_ended(&self, id: String) {
        if id.len() > VISIT_ID_BYTES_MAX {
            return;
        }
        self.visits_ended.send_modify(|ended| {
            if ended.len() == VISITS_KEPT_MAX {
                ended.pop_front();
            }
            ended.push_back(id);
        });
    }

    /// A request is sent, which allows a legacy server some questions.
    pub(crate) fn allow_questions(&self) {
        let more = |left: usize| Some((left + QUESTIONS_PER_REQUEST_MAX).min(QUESTIONS_SAVED_MAX));
        _ = self.allowance.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    /// Lets a question of a legacy server in, unless there were too many.
    pub(crate) fn admit(&self) -> Option<Rest> {
        let less = |left: usize| left.checked_sub(1);
        self.allowance.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).ok()?;
        self.patience.rest(QUESTIONS_OPEN_MAX)
    }

    /// Stops the time of all requests, for whoever asks somebody on their behalf.
    pub(crate) fn pause(&self) -> Option<Rest> {
        self.patience.rest(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answerer::Answering;
    use std::time::Duration;
    use tokio::time::Instant;

    #[derive(Debug)]
    struct Offering(Offers);

    impl Answerer for Offering {
        fn offers(&self) -> Offers {
            self.0
        }
    }

    fn desk(offers: Offers, tasks: bool) -> Arc<Desk> {
        let answerer: Arc<dyn Answerer> = Arc::new(Offering(offers));
        Arc::new(Desk::new(&Options { answerer: Some(answerer), tasks, ..Options::default() }))
    }

    #[test]
    fn a_server_is_told_of_what_is_offered_and_of_nothing_else() {
        let none = Offers::default();
        let check = |offers, era, expected: &str| {
            assert_eq!(desk(offers, true).capabilities(era), expected);
        };
        check(none, Era::Legacy, "{}");
        check(none, Era::Modern, r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#);
        let forms = Offers { forms: true, ..none };
        check(forms, Era::Legacy, r#"{"elicitation":{"form":{}}}"#);
        let all =
            Offers { forms: true, visits: true, sampling: true, sampling_tools: true, roots: true };
        let expected = r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}"#;
        assert_eq!(desk(all, false).capabilities(Era::Modern), expected);
        assert_eq!(Desk::new(&Options::default()).capabilities(Era::Modern), "{}");
    }

    #[test]
    fn questions_are_admitted_up_to_a_number_at_once_and_in_all() {
        let desk = desk(Offers::default(), false);
        let open: Vec<_> = std::iter::from_fn(|| desk.admit()).collect();
        assert_eq!(open.len(), QUESTIONS_OPEN_MAX);
        drop(open);
        let left = QUESTIONS_PER_REQUEST_MAX - QUESTIONS_OPEN_MAX - 1;
        let asked = (0..1000).filter_map(|_| desk.admit()).count();
        assert_eq!(asked, left, "the one that found no room counts too");
        desk.allow_questions();
        assert!(desk.admit().is_some());
        (0..100).for_each(|_| desk.allow_questions());
        assert_eq!((0..5000).filter_map(|_| desk.admit()).count(), QUESTIONS_SAVED_MAX);
    }

    /// Lets the fake clock go on.
    async fn pass(seconds: u64) {
        let never = std::future::pending::<()>();
        _ = tokio::time::timeout(Duration::from_secs(seconds), never).await;
    }

    #[tokio::test(start_paused = true)]
    async fn time_does_not_run_while_somebody_is_asked() {
        let desk = desk(Offers::default(), false);
        let limit = Duration::from_secs(10);
        let began = Instant::now();
        let asking = async {
            pass(9).await;
            let question = desk.admit();
            pass(100).await;
            drop(question);
            std::future::pending::<()>().await;
        };
        assert_eq!(desk.patience().wait(limit, asking).await, None);
        assert_eq!(began.elapsed().as_secs(), 119, "the whole limit after the answer");
        let never = std::future::pending::<()>();
        assert_eq!(desk.patience().wait(limit, never).await, None);
        assert_eq!(began.elapsed().as_secs(), 129);
        let at_once = std::future::ready(7);
        assert_eq!(desk.patience().wait(Duration::MAX, at_once).await, Some(7));
    }

    #[derive(Debug)]
    struct Traveller;

    impl Answerer for Traveller {
        fn offers(&self) -> Offers {
            Offers { visits: true, ..Offers::default() }
        }

        fn visit<'a>(&'a self, _: &'a Asker, _: &'a Visit) -> Answering<'a, Consent> {
            Box::pin(std::future::ready(Consent::Accepted))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_visit_is_over_by_the_servers_word_or_after_a_long_time() {
        let answerer: Arc<dyn Answerer> = Arc::new(Traveller);
        let desk = Desk::new(&Options { answerer: Some(answerer), ..Options::default() });
        let visit = |id: Option<&str>| Visit {
            message: String::new(),
            url: "https://x/".to_owned(),
            host: "x".to_owned(),
            id: id.map(str::to_owned),
        };
        desk.visit_ended("a".to_owned());
        assert!(desk.visit(&visit(Some("a"))).await, "it was over before anybody waited");
        (0..VISITS_KEPT_MAX).for_each(|n| desk.visit_ended(n.to_string()));
        desk.visit_ended("x".repeat(VISIT_ID_BYTES_MAX + 1));
        assert_eq!(desk.visits_ended.borrow().len(), VISITS_KEPT_MAX);
        for id in [Some("a"), None] {
            let began = Instant::now();
            assert!(!desk.visit(&visit(id)).await, "nobody says that it is over");
            assert_eq!(began.elapsed().as_secs(), VISIT_TIME_MAX.as_secs());
        }
    }
}

//! Access tokens: fetched once for all, renewed before they end, asked for anew when one is
//! refused.

use crate::origin::{Origin, Reply, Seen};
use crate::reach::direct;
use haft_fetch::limits::TOKEN_TIME_MAX;
use haft_fetch::{Answer, Auth, Clients, FetchError, Placement, Reach, Request, Tokens, Url};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long something is waited for, by a clock that nobody stops.
const DEADLINE: Duration = Duration::from_secs(20);

/// A server that grants `t1`, `t2`, … at `/token` and takes the newest one elsewhere.
async fn origin(life: u32, accepts: impl Fn(&str) -> bool + Send + Sync + 'static) -> Origin {
    let granted = AtomicUsize::new(0);
    Origin::serve(move |seen| {
        if seen.target == "/token" {
            let number = granted.fetch_add(1, Ordering::Relaxed) + 1;
            return Reply::json(format!(
                r#"{{"access_token":"t{number}","token_type":"bearer","expires_in":{life}}}"#
            ));
        }
        match seen.header("authorization") {
            Some(token) if accepts(token) => Reply::text("in"),
            _ => Reply::status(401),
        }
    })
    .await
}

fn tokens(origin: &Origin, placement: Placement) -> Tokens {
    Tokens {
        url: Url::parse(&origin.url("/token")).expect("an address"),
        client_id: "me:".to_owned(),
        client_secret: "s&cret".to_owned(),
        fields: vec![("scope".to_owned(), "a b".to_owned())],
        placement,
        reach: Reach::Anywhere,
    }
}

async fn ask(clients: &Clients, origin: &Origin, tokens: &Tokens) -> Result<Answer, FetchError> {
    let request = Request::get(Url::parse(&origin.url("/x")).expect("an address"));
    clients.of(&Reach::Anywhere).send(&request, &Auth::Token(clients.tokens(tokens))).await
}

fn asked(origin: &Origin, target: &str) -> Vec<Seen> {
    origin.seen().into_iter().filter(|seen| seen.target == target).collect()
}

/// Waits until it is so.
async fn until(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < DEADLINE, "it never is");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn one_token_serves_many_calls_at_once() {
    let origin = origin(3600, |token| token == "Bearer t1").await;
    let (clients, tokens) = (direct(), tokens(&origin, Placement::Basic));
    let one = || async { ask(&clients, &origin, &tokens).await.expect("an answer").status };
    let all = tokio::join!(one(), one(), one(), one());
    assert!([all.0, all.1, all.2, all.3].iter().all(http::StatusCode::is_success));
    let asked = asked(&origin, "/token");
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].text(), "grant_type=client_credentials&scope=a%20b");
    // `me%3A:s%26cret`
    assert_eq!(asked[0].header("authorization"), Some("Basic bWUlM0E6cyUyNmNyZXQ="));
}

#[tokio::test]
async fn name_and_secret_may_go_into_the_body() {
    let origin = origin(3600, |_| true).await;
    let (clients, tokens) = (direct(), tokens(&origin, Placement::Body));
    assert!(ask(&clients, &origin, &tokens).await.is_ok());
    let asked = asked(&origin, "/token");
    let expected =
        "grant_type=client_credentials&scope=a%20b&client_id=me%3A&client_secret=s%26cret";
    assert_eq!((asked[0].text(), asked[0].header("authorization")), (expected, None));
}

#[tokio::test(start_paused = true)]
async fn a_refused_token_is_replaced_once() {
    let is_revoked = Arc::new(AtomicBool::new(false));
    let revoked = Arc::clone(&is_revoked);
    let accepts = move |token: &str| token != "Bearer t1" || !revoked.load(Ordering::Relaxed);
    let origin = origin(3600, accepts).await;
    let (clients, tokens) = (direct(), tokens(&origin, Placement::Basic));
    for (is_now, fetched) in [(false, 1), (true, 2), (true, 2)] {
        is_revoked.store(is_now, Ordering::Relaxed);
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!(ask(&clients, &origin, &tokens).await.expect("an answer").status, 200);
        assert_eq!(asked(&origin, "/token").len(), fetched);
    }
}

#[tokio::test]
async fn a_server_that_takes_no_token_does_not_make_each_call_fetch_one() {
    let never = origin(3600, |_| false).await;
    let (clients, tokens) = (direct(), tokens(&never, Placement::Basic));
    for _ in 0..3 {
        assert_eq!(ask(&clients, &never, &tokens).await.expect("an answer").status, 401);
    }
    assert_eq!((asked(&never, "/token").len(), asked(&never, "/x").len()), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn the_same_token_again_is_fetched_once_for_all_who_wait() {
    let origin = Origin::serve(|seen| match &*seen.target {
        "/token" => Reply::json(r#"{"access_token":"t"}"#),
        _ => Reply::status(401),
    })
    .await;
    let (clients, tokens) = (direct(), tokens(&origin, Placement::Basic));
    assert!(ask(&clients, &origin, &tokens).await.is_ok());
    tokio::time::advance(Duration::from_secs(6)).await;
    let one = || async { ask(&clients, &origin, &tokens).await.expect("an answer").status };
    let all = tokio::join!(one(), one(), one());
    assert_eq!([all.0, all.1, all.2], [401; 3]);
    assert_eq!((asked(&origin, "/token").len(), asked(&origin, "/x").len()), (2, 4));
}

#[tokio::test]
async fn what_a_redirect_led_to_is_not_asked_again() {
    for status in [302, 303, 307] {
        let origin = Origin::serve(move |seen| match &*seen.target {
            "/token" => Reply::json(r#"{"access_token":"t"}"#),
            "/x" => Reply::redirect(status, "/done"),
            _ => Reply::status(401),
        })
        .await;
        let (clients, tokens) = (direct(), tokens(&origin, Placement::Basic));
        let url = Url::parse(&origin.url("/x")).expect("an address");
        let mut request = Request::new(http::Method::POST, url);
        request.redirects = 5;
        let auth = Auth::Token(clients.tokens(&tokens));
        let answer = clients.of(&Reach::Anywhere).send(&request, &auth).await;
        assert_eq!(answer.expect("an answer").status, 401);
        let asked: Vec<_> = origin.seen().into_iter().map(|seen| seen.target).collect();
        assert_eq!(asked, ["/token", "/x", "/done"], "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_is_renewed_before_it_ends() {
    let origin = origin(100, |_| true).await;
    let (clients, tokens) = (direct(), tokens(&origin, Placement::Basic));
    for (seconds, fetched) in [(0, 1), (85, 1), (6, 2), (80, 2), (200, 3)] {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        let (began, newest) = (Instant::now(), format!("Bearer t{fetched}"));
        // Nobody waits for it to be renewed. It is there when a call carries it: until then its
        // answer is on the way, and the clock must not be moved.
        loop {
            assert!(ask(&clients, &origin, &tokens).await.is_ok());
            let seen = asked(&origin, "/x");
            if seen.last().and_then(|seen| seen.header("authorization")) == Some(&newest) {
                break;
            }
            assert!(began.elapsed() < DEADLINE, "no {newest} after {seconds} more seconds");
        }
        assert_eq!(asked(&origin, "/token").len(), fetched, "after {seconds} more seconds");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_go_on_with_their_token_while_another_one_comes() {
    let granted = AtomicUsize::new(0);
    let origin = Origin::serve(move |seen| match &*seen.target {
        "/token" if granted.fetch_add(1, Ordering::Relaxed) == 0 => {
            Reply::json(r#"{"access_token":"t1","expires_in":100}"#)
        }
        "/token" => Reply::never(),
        _ => Reply::text("in"),
    })
    .await;
    let (clients, tokens) = (direct(), tokens(&origin, Placement::Basic));
    assert!(ask(&clients, &origin, &tokens).await.is_ok());
    tokio::time::advance(Duration::from_secs(91)).await;
    for _ in 0..3 {
        let begun = tokio::time::Instant::now();
        assert_eq!(ask(&clients, &origin, &tokens).await.expect("an answer").status, 200);
        assert!(begun.elapsed() < Duration::from_secs(1), "it did not wait");
    }
    until(|| asked(&origin, "/token").len() >= 2).await;
    assert_eq!(asked(&origin, "/token").len(), 2, "one renewal for all");
    for seen in asked(&origin, "/x") {
        assert_eq!(seen.header("authorization"), Some("Bearer t1"));
    }
}

#[tokio::test(start_paused = true)]
async fn the_life_of_a_token_may_be_a_text() {
    for (life, fetched) in [("\"100\"", 2), ("100.5", 2), ("\"soon\"", 1), ("null", 1)] {
        let origin = Origin::serve(move |seen| match &*seen.target {
            "/token" => Reply::json(format!(r#"{{"access_token":"t","expires_in":{life}}}"#)),
            _ => Reply::text("in"),
        })
        .await;
        let (clients, tokens) = (direct(), tokens(&origin, Placement::Basic));
        for _ in 0..2 {
            assert!(ask(&clients, &origin, &tokens).await.is_ok(), "{life}");
            tokio::time::advance(Duration::from_secs(101)).await;
        }
        assert_eq!(asked(&origin, "/token").len(), fetched, "{life}");
    }
}

#[tokio::test]
async fn a_refusal_says_why_and_not_the_secret() {
    let body = r#"{"error":"invalid_client","error_description":"no such client"}"#;
    let cases: [(Reply, &str); 4] = [
        (Reply::json(body), "its answer holds no `access_token`"),
        (Reply::status(401).body(body), "it answered 401 Unauthorized: no such client"),
        (Reply::text("<html>"), "its answer holds no `access_token`"),
        (Reply::json(r#"{"access_token":"a","token_type":"mac"}"#), "it is none for `Bearer`"),
    ];
    for (reply, expected) in cases {
        let reply = std::sync::Mutex::new(Some(reply));
        let origin = Origin::serve(move |_| {
            // A second attempt would come too soon.
            reply.lock().expect("nobody panics").take().unwrap_or_else(|| Reply::status(500))
        })
        .await;
        let (clients, tokens) = (direct(), tokens(&origin, Placement::Basic));
        for _ in 0..2 {
            let error = ask(&clients, &origin, &tokens).await.expect_err("there is none");
            let expected = format!("no access token from `127.0.0.1`: {expected}");
            assert_eq!(error.to_string(), expected);
        }
        assert_eq!(origin.seen().len(), 1);
    }
}

#[tokio::test]
async fn a_refusal_holds_no_half_of_the_secret() {
    let said = format!("{}s&cret", "x".repeat(297));
    let body = format!(r#"{{"error_description":"{said}"}}"#);
    let origin = Origin::serve(move |_| Reply::status(400).body(body.clone())).await;
    let (clients, tokens) = (direct(), tokens(&origin, Placement::Basic));
    let error = ask(&clients, &origin, &tokens).await.expect_err("there is none").to_string();
    assert!(error.ends_with("xxx…"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_authorization_server_that_never_ends_is_given_up() {
    for (reply, expected) in [
        (Reply::never as fn() -> Reply, "no answer within"),
        (Reply::silent, "no answer within"),
        (Reply::endless, "is longer than 65536 bytes"),
    ] {
        let origin = Origin::serve(move |_| reply()).await;
        let (clients, tokens) = (direct(), tokens(&origin, Placement::Basic));
        let begun = tokio::time::Instant::now();
        let error = ask(&clients, &origin, &tokens).await.expect_err("there is none");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(begun.elapsed() <= TOKEN_TIME_MAX + Duration::from_secs(1));
    }
}

#[tokio::test]
async fn who_gives_up_while_a_token_comes_does_not_hold_up_others() {
    let is_first = AtomicUsize::new(0);
    let origin = Origin::serve(move |seen| match &*seen.target {
        "/token" if is_first.fetch_add(1, Ordering::Relaxed) == 0 => Reply::never(),
        "/token" => Reply::json(r#"{"access_token":"t2"}"#),
        _ => Reply::text("in"),
    })
    .await;
    let (clients, tokens) = (direct(), tokens(&origin, Placement::Basic));
    let mut first = Box::pin(ask(&clients, &origin, &tokens));
    let mut second = Box::pin(ask(&clients, &origin, &tokens));
    tokio::select! {
        biased;
        _ = &mut first => panic!("there is no token"),
        _ = &mut second => panic!("there is no token"),
        () = until(|| !origin.seen().is_empty()) => {}
    }
    drop(first);
    assert_eq!(second.await.expect("an answer").status, 200);
    assert_eq!(asked(&origin, "/x")[0].header("authorization"), Some("Bearer t2"));
}

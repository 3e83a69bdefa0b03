//! Where redirects lead, and where they must not.

use crate::origin::{Origin, Reply};
use crate::reach::{direct, text};
use haft_fetch::limits::REDIRECTS_MAX;
use haft_fetch::{Answer, Auth, FetchError, Reach, Request, Url};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method};

async fn ask(url: &str, method: Method, redirects: usize) -> Result<Answer, FetchError> {
    let mut request = Request::new(method.clone(), Url::parse(url).expect("an address"));
    request.redirects = redirects;
    request.headers.insert("x-key", HeaderValue::from_static("secret"));
    request.headers.insert(ACCEPT, HeaderValue::from_static("text/plain"));
    if method == Method::POST {
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        request.body = "body".into();
    }
    let auth = Auth::bearer("token").expect("a token");
    direct().of(&Reach::Anywhere).send(&request, &auth).await
}

#[tokio::test]
async fn a_redirect_on_the_same_server_keeps_who_asks() {
    let origin = Origin::serve(|seen| match &*seen.target {
        "/a" => Reply::redirect(302, "b?c"),
        _ => Reply::text("here"),
    })
    .await;
    let answer = ask(&origin.url("/a"), Method::GET, 5).await.expect("it answers");
    assert_eq!(answer.url.path_and_query(), "/b?c");
    assert_eq!(text(Ok(answer)).await, "here");
    let last = &origin.seen()[1];
    assert_eq!((&*last.target, last.header("x-key")), ("/b?c", Some("secret")));
    assert_eq!(last.header("authorization"), Some("Bearer token"));
}

#[tokio::test]
async fn another_server_learns_nothing() {
    let other = Origin::serve(|_| Reply::text("other")).await;
    let there = other.url("/x");
    let origin = Origin::serve(move |_| Reply::redirect(302, &*there)).await;
    assert_eq!(text(ask(&origin.url("/"), Method::GET, 5).await).await, "other");
    let seen = other.only();
    assert_eq!((seen.header("x-key"), seen.header("authorization")), (None, None));
    assert_eq!(seen.header("accept"), Some("text/plain"));
    let after_post = ask(&origin.url("/"), Method::POST, 5).await;
    assert_eq!(text(after_post).await, "other");
    let seen = &other.seen()[1];
    assert_eq!((&*seen.method, &*seen.body, seen.header("content-type")), ("GET", &b""[..], None));
}

#[tokio::test]
async fn a_body_is_not_handed_to_another_server() {
    let other = Origin::serve(|_| Reply::text("other")).await;
    let there = other.url("/x");
    let origin = Origin::serve(move |_| Reply::redirect(307, &*there)).await;
    let refused = ask(&origin.url("/"), Method::POST, 5).await.map(|_| ());
    assert!(matches!(refused, Err(FetchError::BadRedirect { .. })), "{refused:?}");
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn a_loop_ends() {
    let origin = Origin::serve(|_| Reply::redirect(302, "/")).await;
    let error = ask(&origin.url("/"), Method::GET, 3).await.expect_err("it never ends");
    assert_eq!(error, FetchError::TooManyRedirects { host: "127.0.0.1".into(), max: 3 });
    assert_eq!(origin.seen().len(), 4);
    let error = ask(&origin.url("/"), Method::GET, 1000).await.expect_err("it never ends");
    assert_eq!(
        error,
        FetchError::TooManyRedirects { host: "127.0.0.1".into(), max: REDIRECTS_MAX }
    );
    let answer = ask(&origin.url("/"), Method::GET, 0).await.expect("none is followed");
    assert_eq!(answer.status, 302);
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_refused() {
    let inner = Origin::serve(|_| Reply::text("secret")).await;
    for there in [
        format!("http://127.0.0.2:{}/", inner.address.port()),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://[::ffff:10.0.0.1]/".to_owned(),
        "http://0x7f000001/".to_owned(),
    ] {
        let location = there.clone();
        let origin = Origin::serve(move |_| Reply::redirect(302, &*location)).await;
        let reach = Reach::Listed(vec!["127.0.0.1".parse().expect("an address")]);
        let request = Request::get(Url::parse(&origin.url("/")).expect("an address"));
        let refused = direct().of(&reach).send(&request, &Auth::None).await;
        let is_refused = matches!(
            refused,
            Err(FetchError::PrivateAddress { .. } | FetchError::UnknownHost { .. })
        );
        // `0x7f000001` is 127.0.0.1 to some resolvers, which is allowed here.
        let is_refused = is_refused || matches!(refused, Err(FetchError::Unreachable { .. }));
        assert!(is_refused, "{there}: {refused:?}");
    }
    assert_eq!(inner.connections(), 0);
}

#[tokio::test]
async fn an_address_that_is_none_is_not_followed() {
    for location in
        ["file:///etc/passwd", "http://user@127.0.0.1/", "http://a\\@b/", "javascript:alert(1)"]
    {
        let origin = Origin::serve(move |_| Reply::redirect(302, location)).await;
        let refused = ask(&origin.url("/"), Method::GET, 5).await.map(|_| ());
        assert!(matches!(refused, Err(FetchError::BadRedirect { .. })), "{location}: {refused:?}");
    }
}

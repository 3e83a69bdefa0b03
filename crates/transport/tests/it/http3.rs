//! HTTP/3: what clients get over it is what they get over HTTP/1.1, in both eras.

use crate::fixture::Fixture;
use crate::http3_client::{Http3Client, next_event};
use crate::raw_client::{modern, modern_with};
use haft_proto::limits::Limits;
use haft_transport::http::Options;

pub(crate) async fn secured() -> Fixture {
    Fixture::secured(Limits::default(), Options::default()).await
}

#[tokio::test]
async fn a_call_is_answered_as_over_the_other_kinds_of_http() {
    let fixture = secured().await;
    let mut client = Http3Client::connect(&fixture).await;
    let answer = client.ask(&modern("tools/call", r#"{"name":"hello"}"#)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("content-length"), Some(&*answer.body.len().to_string()));
    assert_eq!(answer.json()["result"]["content"][0]["text"], "hello");
}

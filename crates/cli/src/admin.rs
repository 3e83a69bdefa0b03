//! The door for whoever runs a server: what its upstreams do, as JSON, at an address of this
//! machine alone. Started by `serve`; the gateway knows the answers.

mod told;

use crate::admin_client::AdminAddress;
use crate::agents;
use crate::doors::Door;
use crate::edits::told_edit;
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::side_door;
use haft_agent::Hub;
use haft_gateway::Admin;
use haft_manifest::Live;
use haft_transport::http::Roll;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use serde_json::{Value, json};
use std::sync::Arc;

/// How many sessions of an address are told of one by one.
const SESSIONS_TOLD_MAX: usize = 1000;

/// Begins to answer at `address`.
///
/// # Errors
/// A failure if nothing can listen there, or others could reach it.
pub(crate) async fn start(
    address: &AdminAddress,
    (admin, hub): (Admin, Option<Arc<Hub>>),
    (live, rolls): (Arc<Live>, Arc<[Roll]>),
    printer: Printer,
) -> Result<(), Failure> {
    if let AdminAddress::Tcp(address) = address
        && !address.ip().is_loopback()
    {
        let why = format!("{address} can be reached by others, and nobody is asked who they are");
        return Err(Failure::new(Exit::Usage, why).hint("use --admin 127.0.0.1:7301"));
    }
    let door = Door::open(address).await.map_err(|error| {
        let failure = Failure::new(Exit::Other, format!("cannot listen on {address}: {error}"));
        failure.hint("choose another address with --admin")
    })?;
    let url = match address {
        AdminAddress::Tcp(_) => format!("{}/admin/v1", door.url()?),
        AdminAddress::Socket(_) => door.url()?,
    };
    printer.announce(format_args!("haft: admin at {url}"), &json!({"admin": {"url": url}}));
    let answer = move |request: Request<Incoming>| {
        let (admin, live, rolls) = (admin.clone(), Arc::clone(&live), Arc::clone(&rolls));
        let hub = hub.clone();
        async move {
            match request.uri().path() {
                "/link/v1/execute" => execute(request, hub.as_deref()).await,
                _ => answer(&request, (&admin, &live, &rolls), hub.as_deref()).await,
            }
        }
    };
    tokio::spawn(side_door::listen(door, answer));
    Ok(())
}

async fn answer(
    request: &Request<Incoming>,
    (admin, live, rolls): (&Admin, &Arc<Live>, &[Roll]),
    hub: Option<&Hub>,
) -> Response<Full<Bytes>> {
    let path = request.uri().path().strip_prefix("/admin/v1/").unwrap_or_default();
    let parts: Vec<&str> = path.split('/').collect();
    let (verb, answered) = match *parts {
        ["upstreams"] => (Method::GET, Some(admin.upstreams())),
        ["catalogue"] => (Method::GET, Some(admin.catalogue())),
        ["calls"] => (Method::GET, Some(admin.calls())),
        ["agents"] => {
            let none = || json!({"agents": []});
            (Method::GET, Some(hub.map_or_else(none, agents::json)))
        }
        ["sessions"] => (Method::GET, Some(sessions(rolls))),
        ["views"] => (Method::GET, Some(admin.views())),
        ["server"] => (Method::GET, Some(told::server(live))),
        ["reload"] => (Method::POST, None),
        ["upstreams", _, "drain" | "resume"] => (Method::POST, None),
        _ => return wrong(StatusCode::NOT_FOUND, "there is no such page; see the book"),
    };
    if *request.method() != verb {
        return other_way(if verb == Method::GET { "GET" } else { "POST" });
    }
    match (answered, &*parts) {
        (Some(answered), _) => json_answer(StatusCode::OK, &answered),
        (None, ["reload"]) => match live.read_again().await {
            Ok(edit) => json_answer(StatusCode::OK, &told_edit(&edit)),
            Err(fault) => wrong(StatusCode::UNPROCESSABLE_ENTITY, &fault.message()),
        },
        (None, parts) => {
            let (name, is_drained) = (parts[1], parts[2] == "drain");
            match admin.drain(name, is_drained) {
                true => json_answer(StatusCode::OK, &json!({"name": name, "drained": is_drained})),
                false => wrong(StatusCode::NOT_FOUND, "there is no such upstream"),
            }
        }
    }
}

/// A call to an agent by hand.
async fn execute(request: Request<Incoming>, hub: Option<&Hub>) -> Response<Full<Bytes>> {
    if *request.method() != Method::POST {
        return other_way("POST");
    }
    let Some(hub) = hub else {
        return wrong(StatusCode::NOT_FOUND, "no agents can come here; see `haft serve --agents`");
    };
    let query = request.uri().query().map(str::to_owned);
    match agents::execute(hub, query.as_deref(), request.into_body()).await {
        Ok(lines) => {
            let mut response = Response::new(Full::from(lines));
            let lines = HeaderValue::from_static("application/x-ndjson");
            response.headers_mut().insert(CONTENT_TYPE, lines);
            response
        }
        Err((status, why)) => wrong(status, &why),
    }
}

/// How many there are at each address, and the newest of them.
fn sessions(rolls: &[Roll]) -> Value {
    let mut count = 0;
    let mut told = Vec::new();
    for roll in rolls {
        let (there, newest) = roll.call(SESSIONS_TOLD_MAX);
        count += there;
        told.extend(newest.into_iter().map(|one| {
            json!({
                "client": one.client,
                "path": one.path,
                "era": "legacy",
                "revision": one.revision.as_str(),
                "ageSeconds": one.age.as_secs_f64(),
                "idleSeconds": one.idle.map(|idle| idle.as_secs_f64()),
            })
        }));
    }
    json!({"count": count, "sessions": told})
}

fn other_way(allowed: &'static str) -> Response<Full<Bytes>> {
    let mut response = wrong(StatusCode::METHOD_NOT_ALLOWED, "ask in the other way");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

fn wrong(status: StatusCode, why: &str) -> Response<Full<Bytes>> {
    json_answer(status, &json!({"error": why}))
}

fn json_answer(status: StatusCode, value: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(format!("{value}\n")));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

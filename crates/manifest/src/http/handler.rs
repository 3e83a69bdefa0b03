//! A call of a tool that asks a server: a request is made of the arguments, sent, and its answer
//! becomes a result. Dropping the call takes the request back.

use crate::http::Http;
use crate::http::answer::{Received, cause, failed};
use crate::http::slot::Filling;
use crate::kind::Setting;
use crate::output::Failure;
use haft_fetch::{Auth, Client, Clients, FetchError, Request};
use haft_proto::spec::tool_result::ToolResult;
use haft_server::handler::{Answer, Call, Handler, Made};
use std::sync::Arc;

/// Asks a server for each call.
pub(crate) struct HttpHandler {
    setting: Setting,
    asking: Arc<Asking>,
}

/// A request, and what it is sent with.
struct Asking {
    http: Http,
    client: Client,
    auth: Auth,
}

impl HttpHandler {
    pub(crate) fn new(setting: Setting, http: Http) -> Self {
        let (client, auth) = http.sender(&setting.clients);
        Self { setting, asking: Arc::new(Asking { http, client, auth }) }
    }

    fn prepare(&self, call: &str) -> Result<Request, String> {
        let mut arguments = self.setting.arguments(call)?;
        if self.asking.http.keeps_null {
            arguments.keep_null(call);
        }
        let filling = Filling { templates: &self.setting.templates, arguments: &arguments };
        self.asking.http.request(filling)
    }
}

impl Handler for HttpHandler {
    fn call(&self, call: Call<'_>, answer: Answer<'_>) -> Made {
        let request = match self.prepare(call.arguments) {
            Ok(request) => request,
            Err(reason) => {
                answer.result(&ToolResult::error(reason));
                return Made::Now;
            }
        };
        let asking = Arc::clone(&self.asking);
        Made::Later(Box::pin(async move { Ok(asking.ask(request).await) }))
    }
}

impl Asking {
    async fn ask(&self, request: Request) -> ToolResult {
        let result = match self.client.send(&request, &self.auth).await {
            Ok(answer) => self.http.understand(answer, &self.auth).await,
            Err(error) => Err(unsent(&error)),
        };
        result.unwrap_or_else(|Failure { reason, cause }| ToolResult {
            cause,
            ..ToolResult::error(self.http.auth.redact(&self.auth, reason))
        })
    }
}

impl Http {
    /// What requests are sent with. Whoever sends several holds it: what nobody holds is made anew,
    /// with its connections and tokens.
    pub(crate) fn sender(&self, clients: &Clients) -> (Client, Auth) {
        (clients.of(&self.reach), self.auth.auth(clients))
    }

    /// What a server answers, as it is. Dropping the future takes the request back.
    pub(crate) async fn fetch(
        &self,
        request: Request,
        (client, auth): &(Client, Auth),
    ) -> Result<Received, Failure> {
        let received = match client.send(&request, auth).await {
            Ok(answer) => match self.accept(answer, auth).await {
                Ok(answer) => self.receive(answer, auth).await,
                Err(failure) => Err(failure),
            },
            Err(error) => Err(unsent(&error)),
        };
        received.map_err(|Failure { reason, cause }| Failure {
            reason: self.auth.redact(auth, reason),
            cause,
        })
    }
}

fn unsent(error: &FetchError) -> Failure {
    Failure { cause: cause(error), ..failed(error).into() }
}

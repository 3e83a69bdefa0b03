//! Tools that ask a server over TLS, by the command: with a certificate that the machine trusts, in
//! HTTP/2, and with one that it does not.

use crate::requests::call;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;

/// A server of TLS that answers with the version of HTTP, and its certificate as PEM.
async fn server() -> (SocketAddr, String) {
    let names = vec!["localhost".to_owned()];
    let own = rcgen::generate_simple_self_signed(names).expect("a certificate is made");
    let certificate = own.cert.der().clone();
    let key = own.signing_key.serialize_der().try_into().expect("it is a key");
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has them")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("they belong together");
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let service = service_fn(async |request: Request<Incoming>| {
                    let said = format!("{:?}", request.version());
                    Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(said))))
                });
                let server = auto::Builder::new(TokioExecutor::new());
                _ = server.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    (address, own.cert.pem())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_server_is_asked_in_http_2_if_its_certificate_is_trusted() {
    let (address, certificate) = server().await;
    let directory = TempDir::new().expect("there is a directory for temporary files");
    let (file, trusted) = (directory.path().join("haft.yaml"), directory.path().join("ca.pem"));
    let (_, other) = server().await;
    let yaml = format!(
        "server: {{ name: a }}\ntools:\n  - name: ask\n    http: {{ get: 'https://localhost:{}/', \
         allow_private: [localhost] }}\n",
        address.port()
    );
    std::fs::write(&file, yaml).expect("it is ours");
    std::fs::write(&trusted, certificate).expect("it is ours");
    let variables = || vec![("SSL_CERT_FILE", trusted.display().to_string())];
    let (code, out, error) = call(file.clone(), &["ask"], variables()).await;
    assert_eq!((code, &*out), (Some(0), "HTTP/2.0\n"), "{error}");
    std::fs::write(&trusted, other).expect("it is ours");
    let (code, out, error) = call(file.clone(), &["ask"], variables()).await;
    assert_eq!(code, Some(5), "{out}{error}");
    assert!((out + &error).contains("no secure connection with `localhost`: "));
}

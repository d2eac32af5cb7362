//! Over TLS, where a client learns what is spoken only when the handshake is over.
//!
//! The server shows a bare key in place of a certificate (RFC 7250), and the client takes any: who it is, is not what is
//! tested here.

use super::*;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use rustls::{
    ClientConfig, DigitallySignedStruct, ServerConfig, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::aws_lc_rs::sign::any_ecdsa_type,
    pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime},
    server::AlwaysResolvesServerRawPublicKeys,
    sign::CertifiedKey,
};
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// For handshakes on a machine that has other things to do.
const PATIENT: Duration = Duration::from_secs(20);

#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

fn acceptor() -> TlsAcceptor {
    let der = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap().to_pkcs8v1().unwrap();
    let key = any_ecdsa_type(&PrivatePkcs8KeyDer::from(der.as_ref().to_vec()).into()).unwrap();
    let shown = CertificateDer::from(key.public_key().unwrap().as_ref().to_vec());
    let resolver = AlwaysResolvesServerRawPublicKeys::new(Arc::new(CertifiedKey::new(vec![shown], key)));
    let mut config = ServerConfig::builder().with_no_client_auth().with_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

/// Answers everything, and counts the connections.
async fn serve(listener: TcpListener, connections: Arc<AtomicU32>) {
    let acceptor = acceptor();
    while let Ok((stream, _)) = listener.accept().await {
        connections.fetch_add(1, Ordering::SeqCst);
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let mut connection = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                let _: h2::SendStream<Bytes> = respond.send_response(http::Response::new(()), true).unwrap();
            }
        });
    }
}

fn trusting(http2_only: bool) -> Transport {
    let verifier = Arc::new(Anybody);
    let tls = ClientConfig::builder().dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    let builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    let connector = if http2_only {
        builder.enable_http2().wrap_connector(tcp())
    } else {
        builder.enable_http1().enable_http2().wrap_connector(tcp())
    };
    let maker = Maker { connector, cleartext: Cleartext::Http2, http2_only };
    Transport::made_by(maker, Clock::system(), BODY_MAX_BYTES)
}

/// Twenty calls of a cold start, over so many connections.
async fn cold_start(http2_only: bool) -> u32 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicU32::new(0));
    let server = tokio::spawn(serve(listener, Arc::clone(&connections)));
    let transport = trusting(http2_only);
    let call = || {
        let request = Request::post(&url).body(Bytes::from_static(b"{}").into()).unwrap();
        transport.call(request, PATIENT)
    };
    for answer in futures_util::future::join_all((0..20).map(|_| call())).await {
        assert_eq!(answer.unwrap().status, 200);
    }
    server.abort();
    connections.load(Ordering::SeqCst)
}

#[tokio::test]
async fn a_cold_start_over_http2_alone_opens_one_connection() {
    assert_eq!(cold_start(true).await, 1);
    // What the one above spares: calls that cannot know what will be spoken open one each.
    assert!(cold_start(false).await > 1);
}

#[test]
fn fcm_s_transport_speaks_http2_alone() {
    assert!(Transport::http2(Clock::system()).maker.http2_only);
    assert!(!Transport::new(Clock::system(), Cleartext::Http2).maker.http2_only);
}

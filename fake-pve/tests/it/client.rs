//! A small API client for the tests: verifies the cluster's certificate by its authority, keeps status and body.

use fake_pve::FakePve;
use reqwest::{Certificate, Client, RequestBuilder};
use serde_json::{Value, json};

/// A client of one cluster with one way to authenticate.
pub struct Api {
    pub http: Client,
    pub url: String,
    authorization: Option<String>,
    csrf: Option<String>,
}

/// What came back.
#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub reason: String,
    pub body: String,
    pub json: Value,
}

impl Got {
    /// `data` of a success.
    #[track_caller]
    pub fn data(&self) -> &Value {
        assert_eq!(self.status, 200, "{} {}", self.reason, self.body);
        &self.json["data"]
    }

    /// Status, message without line end, errors.
    pub fn refusal(&self) -> (u16, &str, &Value) {
        (self.status, self.json["message"].as_str().unwrap_or_default().trim_end(), &self.json["errors"])
    }
}

impl Api {
    /// Nobody.
    pub fn anonymous(pve: &FakePve) -> Api {
        rustls::crypto::ring::default_provider().install_default().ok();
        let ca = Certificate::from_pem(pve.ca_pem().as_bytes()).expect("a certificate");
        let http = Client::builder().tls_certs_only([ca]).redirect(reqwest::redirect::Policy::none()).no_proxy();
        Api { http: http.build().expect("a client"), url: pve.url(), authorization: None, csrf: None }
    }

    /// `root@pam` by its token.
    pub fn root_token(pve: &FakePve) -> Api {
        Api::with_token(pve, &pve.token())
    }

    /// A token.
    pub fn with_token(pve: &FakePve, token: &str) -> Api {
        Api { authorization: Some(format!("PVEAPIToken={token}")), ..Api::anonymous(pve) }
    }

    /// A login.
    pub async fn login(pve: &FakePve, userid: &str, password: &str) -> Api {
        let mut api = Api::anonymous(pve);
        let got = api.post("/access/ticket", json!({"username": userid, "password": password})).await;
        let login = got.data();
        api.authorization = Some(format!("PVEAuthCookie={}", login["ticket"].as_str().expect("a ticket")));
        api.csrf = login["CSRFPreventionToken"].as_str().map(str::to_string);
        api
    }

    /// `root@pam` by its password.
    pub async fn root(pve: &FakePve) -> Api {
        Api::login(pve, "root@pam", &pve.credentials().password).await
    }

    pub async fn get(&self, path: &str) -> Got {
        self.send(self.http.get(self.at(path))).await
    }

    pub async fn delete(&self, path: &str) -> Got {
        self.send(self.http.delete(self.at(path))).await
    }

    /// A form.
    pub async fn post(&self, path: &str, form: Value) -> Got {
        self.send(self.http.post(self.at(path)).form(&form)).await
    }

    /// A form whose keys may repeat.
    pub async fn post_pairs(&self, path: &str, pairs: &[(&str, &str)]) -> Got {
        self.send(self.http.post(self.at(path)).form(pairs)).await
    }

    /// A form.
    pub async fn put(&self, path: &str, form: Value) -> Got {
        self.send(self.http.put(self.at(path)).form(&form)).await
    }

    /// Any request of this client's, with its authentication.
    pub async fn send(&self, mut request: RequestBuilder) -> Got {
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization);
        }
        if let Some(csrf) = &self.csrf {
            request = request.header("CSRFPreventionToken", csrf);
        }
        let response = sent(request).await;
        let reason = response.extensions().get::<hyper::ext::ReasonPhrase>();
        let reason = reason.map(|reason| String::from_utf8_lossy(reason.as_bytes()).into_owned());
        let status = response.status().as_u16();
        let reason = reason.unwrap_or_else(|| response.status().canonical_reason().unwrap_or_default().to_string());
        let body = response.text().await.expect("a body");
        Got { status, reason, json: serde_json::from_str(&body).unwrap_or_default(), body }
    }

    pub fn at(&self, path: &str) -> String {
        if ["/api2", "/_", "/no/"].iter().any(|other| path.starts_with(other)) {
            format!("{}{path}", self.url)
        } else {
            format!("{}/api2/json{path}", self.url)
        }
    }
}

/// The one place where these tests send a request.
#[expect(clippy::disallowed_methods, reason = "tests of the fake speak to it directly")]
pub async fn sent(request: RequestBuilder) -> reqwest::Response {
    request.send().await.expect("an answer")
}

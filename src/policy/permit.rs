//! The permit: the only thing that can be sent, and only the policy can make one.

/// An action that the policy has allowed. It is used up by doing it: no `Clone`, no public constructor.
///
/// A second way out of this server does not compile:
///
/// ```compile_fail
/// use pvemcp::policy::{ApiCall, Permit};
/// fn smuggle(call: ApiCall) -> Permit<ApiCall> {
///     Permit { action: call }
/// }
/// ```
///
/// ```compile_fail
/// use pvemcp::policy::{ApiCall, Permit};
/// fn twice(permit: Permit<ApiCall>) -> (Permit<ApiCall>, Permit<ApiCall>) {
///     (permit.clone(), permit)
/// }
/// ```
///
/// and a call without a permit cannot be sent:
///
/// ```compile_fail
/// async fn bare(client: &pvemcp::pve::Client, call: pvemcp::policy::ApiCall) {
///     client.send(call).await;
/// }
/// ```
#[derive(Debug)]
#[must_use = "a permit that is dropped does nothing"]
pub struct Permit<A> {
    action: A,
}

impl<A> Permit<A> {
    /// Only the policy calls this.
    pub(super) fn grant(action: A) -> Permit<A> {
        Permit { action }
    }

    /// What was allowed.
    pub fn action(&self) -> &A {
        &self.action
    }

    /// Uses the permit up.
    pub fn into_action(self) -> A {
        self.action
    }
}

/// What the policy says to an action that it does not refuse.
#[derive(Debug)]
pub enum Admission<A> {
    /// It may be done.
    Go(Permit<A>),
    /// It may be shown, not done: a dry run.
    Dry(A),
}

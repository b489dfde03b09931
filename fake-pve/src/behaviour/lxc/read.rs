//! `GET …/config` and `GET …/pending` of a container.

use crate::behaviour::guest::reading;
use crate::behaviour::{Answer, Call};
use crate::world::GuestKind;

pub(crate) fn config(call: &mut Call<'_>) -> Answer {
    reading::config(call, GuestKind::Lxc)
}

pub(crate) fn pending(call: &mut Call<'_>) -> Answer {
    reading::pending(call, GuestKind::Lxc)
}

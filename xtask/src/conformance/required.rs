//! The scenarios that have to pass, even if the baseline allows a failure.

/// A scenario, and those of its checks that concern features we do not offer.
#[derive(Debug)]
pub(crate) struct Required {
    pub(crate) scenario: &'static str,
    pub(crate) except: &'static [&'static str],
}

const fn all_of(scenario: &'static str) -> Required {
    Required {
        scenario,
        except: &[],
    }
}

/// One of the two revisions that the suite tests.
pub(crate) struct SuiteRevision {
    pub(crate) name: &'static str,
    own: &'static [Required],
}

impl SuiteRevision {
    pub(crate) fn required(&self) -> impl Iterator<Item = &'static Required> {
        BOTH.iter().chain(self.own)
    }
}

pub(crate) const REVISIONS: [SuiteRevision; 2] = [
    SuiteRevision {
        name: "2025-11-25",
        own: &[
            all_of("server-initialize"),
            all_of("ping"),
            Required {
                scenario: "server-sse-multiple-streams",
                // Without a session id the suite looks no further, and we issue none.
                except: &["server-sse-multiple-streams-session"],
            },
        ],
    },
    SuiteRevision {
        name: "2026-07-28",
        own: &[
            all_of("server-sse-multiple-streams"),
            all_of("http-header-validation"),
            all_of("http-custom-header-server-validation"),
            all_of("sep-2164-resource-not-found"),
            Required {
                scenario: "caching",
                // Lists of features that we do not offer; the tools' own checks are required.
                except: &["sep-2549-prompts-list-caching-hints"],
            },
            Required {
                scenario: "server-stateless",
                // Subscriptions, list changes, log levels and requests of the server's own.
                except: &[
                    "sep-2575-http-server-no-independent-requests-on-stream",
                    "sep-2575-server-honors-notification-filter",
                    "sep-2575-server-no-log-without-loglevel",
                    "sep-2575-server-sends-prompts-list-changed-on-subscription",
                    "sep-2575-server-sends-subscription-ack",
                    "sep-2575-server-sends-tools-list-changed-on-subscription",
                    "sep-2575-server-tags-subscription-id",
                ],
            },
        ],
    },
];

const BOTH: &[Required] = &[
    all_of("tools-list"),
    all_of("tools-call-simple-text"),
    all_of("tools-call-image"),
    all_of("tools-call-audio"),
    all_of("tools-call-embedded-resource"),
    all_of("tools-call-mixed-content"),
    all_of("tools-call-error"),
    all_of("tools-call-with-progress"),
    all_of("dns-rebinding-protection"),
    all_of("json-schema-2020-12"),
    all_of("resources-list"),
    all_of("resources-read-text"),
    all_of("resources-read-binary"),
    all_of("resources-templates-read"),
];

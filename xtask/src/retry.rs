//! Retries downloads three times, with a growing pause.

use crate::problem::Problem;
use std::time::Duration;

const PAUSES: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(20)];

/// Retries until it works or the pauses are used up. Returns the last problem.
pub(crate) fn retried(
    what: &str,
    attempt: impl FnMut() -> Result<(), Problem>,
) -> Result<(), Problem> {
    retried_with(what, attempt, std::thread::sleep)
}

fn retried_with(
    what: &str,
    mut attempt: impl FnMut() -> Result<(), Problem>,
    mut pause: impl FnMut(Duration),
) -> Result<(), Problem> {
    let mut result = attempt();
    for wait in PAUSES {
        let Err(problem) = &result else { break };
        println!(
            "{what}: {}; trying again in {} s",
            problem.message(),
            wait.as_secs()
        );
        pause(wait);
        result = attempt();
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(failures: usize) -> (Result<(), Problem>, usize, Vec<Duration>) {
        let mut tries = 0;
        let mut pauses = Vec::new();
        let attempt = || {
            tries += 1;
            if tries > failures {
                Ok(())
            } else {
                Err(Problem::new(format!("failure {tries}")))
            }
        };
        let result = retried_with("npm", attempt, |wait| pauses.push(wait));
        (result, tries, pauses)
    }

    #[test]
    fn success_ends_it() {
        assert_eq!(after(0), (Ok(()), 1, vec![]));
        assert_eq!(after(1), (Ok(()), 2, vec![PAUSES[0]]));
    }

    #[test]
    fn three_failures_are_enough() {
        let (result, tries, pauses) = after(9);
        assert_eq!(result.unwrap_err().message(), "failure 3");
        assert_eq!((tries, pauses), (3, PAUSES.to_vec()));
    }
}

//! Reads totals in the output of test runners.

use crate::outcome::TestCounts;

/// Adds up `test result: ok. 5 passed; 0 failed; …`, once for each test binary.
pub(crate) fn cargo(output: &str) -> TestCounts {
    output
        .lines()
        .filter(|line| line.starts_with("test result:"))
        .map(pairs)
        .sum()
}

/// Reads the last line of the form `2 failed, 98 passed, 1 error in 3.21s`. After a minute
/// `(0:01:02)` follows the time.
pub(crate) fn pytest(output: &str) -> TestCounts {
    output
        .lines()
        .rev()
        .filter_map(|line| line.split_once(" in ").map(|(counts, _)| counts))
        .find(|counts| {
            ["passed", "failed", "error", "ran"]
                .iter()
                .any(|word| counts.contains(word))
        })
        .map(pairs)
        .unwrap_or_default()
}

/// Reads `ℹ pass 5`, `ℹ fail 0`, `ℹ cancelled 0`, whatever the reporter writes before them.
pub(crate) fn node(output: &str) -> TestCounts {
    // The totals are at the end, and tests before them may print similar lines.
    let total = |name: &str| {
        output
            .lines()
            .rev()
            .filter_map(|line| line.split_once(' ').map(|(_, rest)| rest))
            .find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
            .unwrap_or(0)
    };
    TestCounts {
        passed: total("pass "),
        // Node counts a test that its parent cancelled apart from failures.
        failed: total("fail ") + total("cancelled "),
    }
}

/// Counts `--- PASS: TestX` and `--- FAIL: TestX`, subtests included.
pub(crate) fn go(output: &str) -> TestCounts {
    // Subtests have indented lines.
    let count = |prefix: &str| {
        output
            .lines()
            .filter(|line| line.trim_start().starts_with(prefix))
            .count() as u64
    };
    TestCounts {
        passed: count("--- PASS:"),
        failed: count("--- FAIL:"),
    }
}

/// Reads the total `Tests run: 12, Failures: 1, Errors: 0, Skipped: 0` after the lines of each
/// class.
pub(crate) fn maven(output: &str) -> TestCounts {
    let Some(total) = output
        .lines()
        .rev()
        .find(|line| line.contains("Tests run:") && !line.contains("Time elapsed"))
    else {
        return TestCounts::default();
    };
    let number = |name: &str| {
        total
            .split_once(name)
            .and_then(|(_, rest)| {
                rest.trim_start()
                    .split(|c: char| !c.is_ascii_digit())
                    .next()
            })
            .and_then(|digits| digits.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let failed = number("Failures:") + number("Errors:");
    TestCounts {
        // Maven's total includes failed and skipped tests.
        passed: number("Tests run:").saturating_sub(failed + number("Skipped:")),
        failed,
    }
}

/// The output of a runner about its failed tests: the parts that cargo calls `failures:`, one for
/// each binary. Other runners report failures at the end.
pub(crate) fn failures(output: &str, lines_max: usize) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let mut is_failure = false;
    let of_cargo = lines.iter().filter(|line| {
        is_failure |= **line == "failures:";
        let is_shown = is_failure;
        // The line with the total ends the part of one binary.
        is_failure &= !line.starts_with("test result:");
        is_shown
    });
    let mut shown: Vec<&str> = of_cargo.copied().collect();
    if shown.is_empty() {
        shown = lines;
    }
    shown
        // The end of an output usually names the cause.
        .split_off(shown.len().saturating_sub(lines_max))
        .join("\n")
}

/// Adds up `N passed`, `N failed` and `N error(s)` in one line.
fn pairs(line: &str) -> TestCounts {
    let mut counts = TestCounts::default();
    let words: Vec<&str> = line.split_whitespace().collect();
    for pair in words.windows(2) {
        let Ok(number) = pair[0].parse::<u64>() else {
            continue;
        };
        match pair[1].trim_end_matches([',', ';']) {
            "passed" => counts.passed += number,
            "failed" | "error" | "errors" => counts.failed += number,
            _ => {}
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    type Case = (fn(&str) -> TestCounts, &'static str, TestCounts);

    fn counts(passed: u64, failed: u64) -> TestCounts {
        TestCounts { passed, failed }
    }

    #[test]
    fn totals_of_each_runner() {
        let cases: [Case; 10] = [
            (
                cargo,
                "test a ... ok\ntest result: ok. 5 passed; 0 failed; 1 ignored; 0 measured\n\
                 test result: FAILED. 2 passed; 3 failed; 0 ignored",
                counts(7, 3),
            ),
            (cargo, "error: could not compile", counts(0, 0)),
            (
                pytest,
                "..F\n2 failed, 98 passed, 1 error in 3.21s",
                counts(98, 3),
            ),
            (
                pytest,
                "=== 12 passed, 4 warnings in 0.50s ===\n12 passed in 0.50s",
                counts(12, 0),
            ),
            (
                pytest,
                "..\n1206 passed in 60.55s (0:01:00)",
                counts(1206, 0),
            ),
            (pytest, "no tests ran in 0.01s", counts(0, 0)),
            (
                node,
                "ℹ tests 4\nℹ pass 2\nℹ fail 1\nℹ cancelled 1\n",
                counts(2, 2),
            ),
            (node, "# pass 2\n# fail 0\n", counts(2, 0)),
            (
                go,
                "--- PASS: TestA (0.0s)\n    --- FAIL: TestA/b (0.0s)\nFAIL\n",
                counts(1, 1),
            ),
            (
                maven,
                "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 1 s\n\
                 [ERROR] Tests run: 12, Failures: 1, Errors: 2, Skipped: 3\n[INFO] BUILD",
                counts(6, 3),
            ),
        ];
        for (read, output, expected) in cases {
            assert_eq!(read(output), expected, "{output}");
        }
    }
    #[test]
    fn what_failed_is_found_again() {
        let of_cargo = "running 2 tests\n.F\nfailures:\n\n---- a stdout ----\nassertion\n\nfailures:\n    a\n\n\
                        test result: FAILED. 1 passed; 1 failed\n\nrunning 1 test\n.\ntest result: ok. 1 passed";
        let expected = "failures:\n\n---- a stdout ----\nassertion\n\nfailures:\n    a\n\n\
                        test result: FAILED. 1 passed; 1 failed";
        assert_eq!(failures(of_cargo, 60), expected);
        assert_eq!(failures("1\n2\n3", 2), "2\n3");
        assert_eq!(failures("", 2), "");
    }
}

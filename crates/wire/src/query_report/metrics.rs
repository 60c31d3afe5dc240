//! `x-ms-documentdb-query-metrics`: the times of a page of a query, and the bytes and rows that it
//! read and returned.

use std::fmt::{self, Display};
use std::time::Duration;

/// The metrics of one page of a query. The time of the query program is the rest of the total.
#[derive(Debug, Clone, Copy, Default)]
pub struct QueryMetrics {
    pub total: Duration,
    pub compile: Duration,
    pub physical_plan: Duration,
    pub index_lookup: Duration,
    pub document_load: Duration,
    pub documents_read: u64,
    pub document_bytes_read: u64,
    pub rows: u64,
    pub row_bytes: u64,
}

impl QueryMetrics {
    fn execution(&self) -> Duration {
        let others = self.compile + self.physical_plan + self.index_lookup + self.document_load;
        // The times are measured separately, so the difference must not fall below zero.
        self.total.saturating_sub(others)
    }

    /// The fraction of the read documents that became rows. Joins make more rows than documents.
    #[expect(clippy::cast_precision_loss, reason = "two digits are printed")]
    fn index_utilization(&self) -> f64 {
        match self.documents_read {
            0 => 1.0,
            documents => (self.rows as f64 / documents as f64).min(1.0),
        }
    }
}

/// SDKs split the text at `;` and `=` and parse numbers with a decimal point. Times that are not
/// measured apart are zero. Cosmos DB prints two digits, in which microseconds would be lost, so
/// there are four.
impl Display for QueryMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nothing = Duration::ZERO;
        for (name, time) in [
            ("totalExecutionTimeInMs", self.total),
            ("queryCompileTimeInMs", self.compile),
            ("queryLogicalPlanBuildTimeInMs", nothing),
            ("queryPhysicalPlanBuildTimeInMs", self.physical_plan),
            ("queryOptimizationTimeInMs", nothing),
            ("VMExecutionTimeInMs", self.execution()),
            ("indexLookupTimeInMs", self.index_lookup),
            ("documentLoadTimeInMs", self.document_load),
            ("systemFunctionExecuteTimeInMs", nothing),
            ("userFunctionExecuteTimeInMs", nothing),
        ] {
            write!(f, "{name}={:.4};", time.as_secs_f64() * 1e3)?;
        }
        for (name, count) in [
            ("retrievedDocumentCount", self.documents_read),
            ("retrievedDocumentSize", self.document_bytes_read),
            ("outputDocumentCount", self.rows),
            ("outputDocumentSize", self.row_bytes),
        ] {
            write!(f, "{name}={count};")?;
        }
        write!(
            f,
            "writeOutputTimeInMs=0.0000;indexUtilizationRatio={:.2}",
            self.index_utilization()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_there_in_its_order() {
        let metrics = QueryMetrics {
            total: Duration::from_micros(290),
            compile: Duration::from_micros(40),
            physical_plan: Duration::from_micros(20),
            index_lookup: Duration::from_micros(5),
            document_load: Duration::from_micros(10),
            documents_read: 4,
            document_bytes_read: 512,
            rows: 2,
            row_bytes: 560,
        };
        let expected = "totalExecutionTimeInMs=0.2900;queryCompileTimeInMs=0.0400;\
             queryLogicalPlanBuildTimeInMs=0.0000;queryPhysicalPlanBuildTimeInMs=0.0200;\
             queryOptimizationTimeInMs=0.0000;VMExecutionTimeInMs=0.2150;indexLookupTimeInMs=0.0050;\
             documentLoadTimeInMs=0.0100;systemFunctionExecuteTimeInMs=0.0000;\
             userFunctionExecuteTimeInMs=0.0000;retrievedDocumentCount=4;retrievedDocumentSize=512;\
             outputDocumentCount=2;outputDocumentSize=560;writeOutputTimeInMs=0.0000;\
             indexUtilizationRatio=0.50";
        assert_eq!(metrics.to_string(), expected);
    }

    #[test]
    fn ratios_stay_between_nothing_and_one() {
        for (documents_read, rows, expected) in [
            (0, 0, "1.00"),
            (0, 3, "1.00"),
            (1_000, 0, "0.00"),
            (2, 9, "1.00"),
            (3, 1, "0.33"),
        ] {
            let metrics = QueryMetrics {
                documents_read,
                rows,
                ..QueryMetrics::default()
            };
            let text = metrics.to_string();
            let (_, ratio) = text.rsplit_once('=').unwrap();
            assert_eq!(ratio, expected, "{rows} of {documents_read}");
        }
    }

    #[test]
    fn parts_that_exceed_the_total_leave_nothing() {
        let metrics = QueryMetrics {
            compile: Duration::from_millis(1),
            ..QueryMetrics::default()
        };
        assert!(metrics.to_string().contains("VMExecutionTimeInMs=0.0000;"));
    }
}

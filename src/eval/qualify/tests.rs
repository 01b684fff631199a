use super::*;

#[test]
fn the_built_in_set_has_the_figures_it_must_have() {
    let folder = tempfile::tempdir().unwrap();
    let report = qualify(folder.path()).unwrap();
    let failed: Vec<&Experiment> = report.experiments.iter().filter(|experiment| !experiment.passed).collect();
    assert!(report.passed && failed.is_empty(), "{failed:#?}");
    let find = |name: &str, metric: &str| {
        let found = report.experiments.iter().find(|it| it.name == name && it.metric == metric);
        found.map_or_else(|| panic!("{name} {metric}"), |it| (it.before, it.after))
    };
    let close = |(before, after): (f64, f64), expected: (f64, f64)| {
        assert!((before - expected.0).abs() < 1e-12 && (after - expected.1).abs() < 1e-12, "{before} {after}");
    };
    let eleven = 11.0 / 12.0;
    close(find("number", PRECISION), (1.0, eleven));
    close(find("number", RESOLVABILITY), (1.0, 1.0));
    close(find("negation", PRECISION), (1.0, eleven));
    close(find("unknown_snapshot", RESOLVABILITY), (1.0, eleven));
    close(find("dropped_claim", COVERAGE), (1.0, eleven));
    close(find("dropped_claim", PRECISION), (1.0, 1.0));
    close(find("source_45_to_52", "extracted_days"), (45.0, 52.0));
    close(find("claim_of_45", PRECISION), (1.0, eleven));
    for name in ["unit", "identifier", "swapped_citation", "quote_tampering"] {
        assert!(find(name, PRECISION).1 < 1.0, "{name}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}

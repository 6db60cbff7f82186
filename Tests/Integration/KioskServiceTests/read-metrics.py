"""Reads a file in Prometheus' text format with Prometheus' own parser: {"name{labels}": value}, and what each family is, as JSON."""
import json
import sys

from prometheus_client.parser import text_string_to_metric_families

samples, kinds = {}, {}
with open(sys.argv[1], encoding="utf-8", newline="") as file:
    for family in text_string_to_metric_families(file.read()):
        kinds[family.name] = family.type
        if not family.documentation:
            raise SystemExit(f"{family.name} has no help")
        for sample in family.samples:
            key = sample.name + "".join(f"|{name}={value}" for name, value in sorted(sample.labels.items()))
            if key in samples:
                raise SystemExit(f"{key} is there twice")
            samples[key] = sample.value
json.dump({"samples": samples, "kinds": kinds}, sys.stdout)

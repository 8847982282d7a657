"""Pure mathematics on arrays: no files, no YAML, no Prefect, no Dask client."""

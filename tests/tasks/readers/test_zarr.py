"""Zarr stores of both formats, in a folder, in memory and behind a server: read as NetCDF is, and what is refused."""

import json
import os
import shutil
import threading
import warnings
from datetime import UTC, datetime
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import fsspec
import numpy as np
import pytest
import xarray as xr

from configs import paths
from metrics.errors import BadInput, BadParameter, MissingInput
from tasks.matching.locate import Cells, locate
from tasks.readers.formats import recognise
from tasks.readers.grids import describe, sample, sample_all
from tasks.store.digests import digest, input_file

zarr = pytest.importorskip("zarr")
pytest.importorskip("upath")

TIMES = np.array(["2026-11-17T00", "2026-11-17T01", "2026-11-17T02"], "datetime64[ns]")
RNG = np.random.default_rng(7)
EAST, NORTH = RNG.normal(size=(2, 3, 6, 7))
KELVIN = 280 + RNG.normal(size=(3, 6, 7))
FORMATS = [2, 3]


def dataset():
    """Three hours of wind and temperature on 6 rows and 7 columns."""
    along = ("time", "lat", "lon")
    return xr.Dataset(
        {
            "u10": (along, EAST, {"units": "m s-1", "standard_name": "eastward_wind"}),
            "v10": (along, NORTH, {"units": "m s-1", "standard_name": "northward_wind"}),
            "t2m": (along, KELVIN, {"units": "K"}),
        },
        {
            "time": TIMES,
            "lat": ("lat", np.arange(40.0, 46), {"units": "degrees_north"}),
            "lon": ("lon", np.arange(-120.0, -113), {"units": "degrees_east"}),
        },
    )


def write(where, version, *, gathered=True, data=None, **encoding):
    """A store in pieces of 2 times, 4 rows and 3 columns."""
    data = dataset() if data is None else data
    pieces = {name: {"chunks": (2, 4, 3)} for name in data.data_vars}
    pieces["t2m"] = {"chunks": (2, 4, 3), **encoding}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # consolidated metadata are no part of format 3, which readers know
        data.to_zarr(where, mode="w", zarr_format=version, consolidated=gathered, encoding=pieces)
    return where


@pytest.fixture
def served(tmp_path):
    """The folder behind a server on loopback: its address, and what was asked of it."""
    asked = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, _, *args):
            asked.append(str(args[0]))

        def list_directory(self, _):
            self.send_error(403)  # as most servers do

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=tmp_path))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


def at(*points, shape=(6, 7)):
    index = np.array([np.ravel_multi_index(each, shape) for each in points])[:, None]
    return Cells(shape, index, np.ones(index.shape), np.ones(len(points), bool))


def check(files):
    """The values that were written, at a grid point and between four of them."""
    np.testing.assert_array_equal(files.times, TIMES)
    found = sample_all(files, ["u", "v", "temperature"], at((5, 6)))
    np.testing.assert_array_equal(found["u"][:, 0], EAST[:, 5, 6])
    np.testing.assert_array_equal(found["v"][:, 0], NORTH[:, 5, 6])
    np.testing.assert_allclose(found["temperature"][:, 0], KELVIN[:, 5, 6] - 273.15, atol=1e-9)
    middle = locate(files.grid, [43.5], [-117.5], how="bilinear")
    np.testing.assert_allclose(sample(files, "u", middle)[:, 0], EAST[:, 3:5, 2:4].mean(axis=(1, 2)), atol=1e-9)


@pytest.mark.parametrize("version", FORMATS)
@pytest.mark.parametrize("gathered", [True, False], ids=["consolidated", "not consolidated"])
def test_a_store_in_a_folder(tmp_path, version, gathered):
    path = write(tmp_path / "a.zarr", version, gathered=gathered)
    files = describe([path])
    assert (files.source, files.container, files.grid.shape) == ("cf", f"Zarr {version}", (6, 7))
    check(files)
    check(describe([path.as_uri()]))
    assert recognise(path, ("grid", "pairs")).name == "cf"


@pytest.mark.parametrize("version", FORMATS)
@pytest.mark.parametrize("gathered", [True, False], ids=["consolidated", "not consolidated"])
def test_a_store_in_memory(version, gathered):
    url = f"memory://firecard-{version}-{gathered}/a.zarr"
    write(url, version, gathered=gathered)
    check(describe([url]))


@pytest.mark.parametrize("version", FORMATS)
def test_a_store_behind_a_server(tmp_path, served, version):
    write(tmp_path / "a.zarr", version)
    address, asked = served
    files = describe([f"{address}/a.zarr"])
    check(files)
    asked.clear()
    sample(files, "temperature", at((0, 0)))
    pieces = [
        each for each in asked if each.startswith("GET /a.zarr/t2m/") and "/.z" not in each and "json" not in each
    ]
    assert len(pieces) == 2  # of the twelve: those of the two spans of times at that corner


def test_packing_is_undone(tmp_path):
    for version in FORMATS:
        path = write(
            tmp_path / f"{version}.zarr", version, dtype="i2", scale_factor=0.5, add_offset=280.0, _FillValue=-999
        )
        values = sample(describe([path]), "temperature", at((0, 0), (3, 3)))
        expected = np.round((KELVIN[:, [0, 3], [0, 3]] - 280) / 0.5) * 0.5 + 280 - 273.15
        np.testing.assert_allclose(values, expected, atol=1e-9)


@pytest.mark.parametrize("version", FORMATS)
def test_missing_values(tmp_path, version):
    data = dataset()
    data["t2m"][1, 0, 0] = np.nan
    values = sample(describe([write(tmp_path / "a.zarr", version, data=data)]), "temperature", at((0, 0)))
    assert np.isnan(values[:, 0]).tolist() == [False, True, False]


@pytest.mark.parametrize("version", FORMATS)
def test_a_zero_is_a_value_in_a_store_that_names_no_fill_value(tmp_path, version):
    group = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=version)
    axes = {"time": np.arange(2.0), "lat": np.array([0.0, 1.0]), "lon": np.array([0.0, 1.0])}
    about = {"time": "hours since 2026-11-17", "lat": "degrees_north", "lon": "degrees_east", "t2m": "degC"}
    fields = {**axes, "t2m": np.zeros((2, 2, 2))}
    for name, values in fields.items():
        dims = (name,) if name in axes else ("time", "lat", "lon")
        named = {"dimension_names": dims} if version == 3 else {"attributes": {"_ARRAY_DIMENSIONS": dims}}
        array = group.create_array(
            name, shape=values.shape, dtype="f8", chunks=values.shape, config={"write_empty_chunks": True}, **named
        )
        array[...] = values
        array.attrs["units"] = about[name]
    files = describe([tmp_path / "a.zarr"])
    assert files.times[0] == np.datetime64("2026-11-17")
    np.testing.assert_array_equal(sample(files, "temperature", at((0, 0), (1, 1), shape=(2, 2))), 0)


@pytest.mark.parametrize("version", FORMATS)
def test_a_piece_that_was_never_written_is_missing(tmp_path, version):
    path = tmp_path / "a.zarr"
    write(path, version)
    described = json.loads((path / "t2m" / ("zarr.json" if version == 3 else ".zarray")).read_bytes())
    described["fill_value"] = 0.0
    (path / "t2m" / ("zarr.json" if version == 3 else ".zarray")).write_text(json.dumps(described))
    (path / "t2m" / ("c/1/0/0" if version == 3 else "1.0.0")).unlink()
    values = sample(describe([path]), "temperature", at((0, 0), (5, 6)))
    np.testing.assert_allclose(values[:2, 0], KELVIN[:2, 0, 0] - 273.15, atol=1e-9)
    assert np.isnan(values[2, 0])
    np.testing.assert_allclose(values[:, 1], KELVIN[:, 5, 6] - 273.15, atol=1e-9)


def test_shards(tmp_path):
    path = write(tmp_path / "a.zarr", 3, shards=(2, 4, 6))
    check(describe([path]))


def test_no_more_is_read_than_the_pieces_around_the_stations(tmp_path):
    path = write(tmp_path / "a.zarr", 2)
    for each in path.glob("t2m/*.1.*"):
        each.write_bytes(b"damaged")
    values = sample(describe([path]), "temperature", at((0, 0)))
    np.testing.assert_allclose(values[:, 0], KELVIN[:, 0, 0] - 273.15, atol=1e-9)
    with pytest.raises(BadInput, match=r"a\.zarr: t2m"):
        sample(describe([path]), "temperature", at((5, 0)))


# --- refused ---------------------------------------------------------------------------------------------------------


def test_a_folder_that_is_no_store(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(BadInput, match="a: is a directory, expected a netCDF file or a Zarr store"):
        describe([tmp_path / "a"])


def test_nothing_there(tmp_path, served):
    address, _ = served
    for url in (f"{address}/none.zarr", "memory://firecard-none/none.zarr"):
        with pytest.raises(MissingInput, match=r"none\.zarr: there is no Zarr store"):
            describe([url])
    with pytest.raises(MissingInput, match="there is no such file"):
        describe([(tmp_path / "none.zarr").as_uri()])


def test_a_server_that_is_not_there():
    with pytest.raises(BadInput, match="cannot be reached"):
        describe(["http://127.0.0.1:1/a.zarr"])


def test_a_server_without_consolidated_metadata(tmp_path, served):
    address, _ = served
    write(tmp_path / "a.zarr", 3, gathered=False)
    with pytest.raises(BadInput, match=r"a\.zarr: has no consolidated metadata"):
        describe([f"{address}/a.zarr"])


@pytest.mark.parametrize("version", FORMATS)
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_description_that_was_cut(tmp_path, version, share):
    path = write(tmp_path / "a.zarr", version)
    file = path / "u10" / ("zarr.json" if version == 3 else ".zarray")
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(BadInput, match="u10"):
        describe([path])


def test_a_codec_that_would_run_code_is_refused(tmp_path):
    path = write(tmp_path / "a.zarr", 2)
    described = json.loads((path / "u10" / ".zarray").read_bytes())
    (path / "u10" / ".zarray").write_text(json.dumps({**described, "filters": [{"id": "pickle"}]}))
    with pytest.raises(BadInput, match="u10 is packed with 'pickle', which firecard does not unpack"):
        describe([path])


def test_a_store_that_changes_between_look_and_read(tmp_path):
    path = write(tmp_path / "a.zarr", 2)
    files = describe([path])
    piece = path / "t2m" / "0.0.0"
    stat = piece.stat()
    os.utime(piece, ns=(stat.st_atime_ns, stat.st_mtime_ns + 10**12))
    with pytest.raises(BadInput, match=r"a\.zarr: was written to since it was first looked at"):
        sample(files, "temperature", at((0, 0)))
    url = "memory://firecard-change/a.zarr"
    write(url, 2)
    files = describe([url])
    fsspec.filesystem("memory").pipe_file("/firecard-change/a.zarr/t2m/0.0.0", b"other")
    with pytest.raises(BadInput, match=r"a\.zarr: .* since it was first looked at"):
        sample(files, "temperature", at((0, 0)))


def test_without_the_library(tmp_path, monkeypatch):
    path = write(tmp_path / "a.zarr", 3)
    monkeypatch.setitem(__import__("sys").modules, "zarr", None)
    with pytest.raises(BadInput, match=r"pip install 'firecard\[zarr\]'"):
        describe([path])


# --- digests and paths -----------------------------------------------------------------------------------------------


def test_the_digest_of_a_store_behind_a_server_follows_its_pieces(tmp_path, served):
    address, _ = served
    write(tmp_path / "a.zarr", 2)
    (url,) = paths.files(f"{address}/a.zarr", tmp_path, datetime(2026, 11, 17, tzinfo=UTC))
    first = digest(url)
    assert digest(url) == first
    found = input_file(url, tmp_path)
    assert (found.name, found.sha256) == ("a.zarr", first)
    piece = tmp_path / "a.zarr" / "t2m" / "1.1.2"
    piece.write_bytes(piece.read_bytes() + b"x")
    assert digest(url) != first
    piece.unlink()
    assert digest(url) != first
    shutil.rmtree(tmp_path / "a.zarr")
    with pytest.raises(MissingInput):
        digest(url)


def test_a_url_of_a_case(tmp_path):
    cycle = datetime(2026, 11, 17, 6, tzinfo=UTC)
    (found,) = paths.files("memory://models/{cycle:%Y%m%d%H}/a[1].zarr", tmp_path, cycle)
    assert str(found) == "memory://models/2026111706/a[1].zarr"
    (local,) = paths.files((tmp_path / "a b").as_uri(), tmp_path, cycle)
    assert local == tmp_path / "a b"
    assert paths.cycles("memory://models/{cycle:%Y%m%d%H}/a.zarr", tmp_path) == []
    with pytest.raises(BadParameter, match="holds no user or password") as refused:
        paths.place("https://me:secret@example.org/a.zarr")
    assert "secret" not in str(refused.value)
    with pytest.raises(BadParameter, match="firecard"):
        paths.place("nosuchprotocol://a/b.zarr")

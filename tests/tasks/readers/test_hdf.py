"""NetCDF files as stored: every classic format, what is refused, threads, and files that were damaged."""

import os
import subprocess
import sys
import textwrap
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest

from metrics.errors import BadInput, MissingInput
from tasks.readers.hdf import LARGEST, look, opened, unpacked

ROOT = Path(__file__).parents[3]


def write_wrf(path, *, times=2, rows=8, columns=9):
    """A small WRF file: `Times`, fixed coordinates, wind, rotation; no extension needed."""
    rng = np.random.default_rng(1)
    with netCDF4.Dataset(path, "w") as dataset:
        dataset.setncatts({"TITLE": " OUTPUT FROM WRF V4.5 MODEL", "MAP_PROJ": 1, "GRID_ID": 1})
        for name, size in (("Time", None), ("DateStrLen", 19), ("south_north", rows), ("west_east", columns)):
            dataset.createDimension(name, size)
        stamps = [list(f"2026-11-17_{hour:02d}:00:00") for hour in range(times)]
        dataset.createVariable("Times", "S1", ("Time", "DateStrLen"))[:] = np.array(stamps, "S1")
        row, column = np.mgrid[:rows, :columns]
        fields = {
            "XLAT": 40 + 0.1 * row,
            "XLONG": -120 + 0.1 * column,
            "SINALPHA": np.zeros((rows, columns)),
            "COSALPHA": np.ones((rows, columns)),
            "U10": rng.normal(size=(times, rows, columns)),
            "V10": rng.normal(size=(times, rows, columns)),
        }
        for name, values in fields.items():
            variable = dataset.createVariable(name, "f4", ("Time", "south_north", "west_east"), zlib=True)
            variable.units = "m s-1"
            variable[:] = np.broadcast_to(values, (times, rows, columns))
    return path


@pytest.fixture
def wrf(tmp_path):
    return write_wrf(tmp_path / "wrfout_d01")


# --- the same as netCDF4 sees ------------------------------------------------------------------------------------


def write_everything(path, data_model):
    """Variables of every shape and type that a format has; odd sizes, so that padding shows."""
    kinds = ["i1", "i2", "i4", "f4", "f8"]
    kinds += ["u1", "u2", "u4", "i8", "u8"] if data_model in ("NETCDF3_64BIT_DATA", "NETCDF4") else []
    with netCDF4.Dataset(path, "w", format=data_model) as dataset:
        dataset.title = "everything"
        dataset.numbers = np.array([1.5, 2.5])
        for name, size in (("time", None), ("y", 3), ("x", 5), ("letter", 7)):
            dataset.createDimension(name, size)
        dataset.createVariable("x", "f4", ("x",))[:] = np.arange(5)
        dataset.createVariable("scalar", "i4", ())[...] = 7
        words = np.array([list("morning"), list("evening"), list("another")], "S1")
        dataset.createVariable("words", "S1", ("time", "letter"))[:] = words
        for number, kind in enumerate(kinds):
            grown = dataset.createVariable(f"grown_{kind}", kind, ("time", "y", "x"))
            grown[:] = np.arange(45).reshape(3, 3, 5) + number
            fixed = dataset.createVariable(f"fixed_{kind}", kind, ("y", "x"))
            fixed[:] = np.arange(15).reshape(3, 5) + number
            fixed.units = "m s-1"
            fixed.flags = np.array([1, 2, 3], kind)


@pytest.mark.parametrize("data_model", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4"])
def test_all_formats_are_read_as_netcdf4_reads_them(tmp_path, data_model):
    path = tmp_path / "without extension"
    write_everything(path, data_model)
    with netCDF4.Dataset(path) as expected, opened(path) as file:
        expected.set_auto_mask(False)
        expected.set_auto_chartostring(False)
        assert set(file.names) == set(expected.variables)
        assert file.attribute(None, "title") == "everything"
        np.testing.assert_array_equal(file.attributes()["numbers"], [1.5, 2.5])
        for name, variable in expected.variables.items():
            assert file.dims(name) == variable.dimensions, name
            assert file.shape(name) == variable.shape, name
            np.testing.assert_array_equal(file.read(name), variable[...])
            assert set(file.attributes(name)) == set(variable.ncattrs()), name
            for key in variable.ncattrs():
                np.testing.assert_array_equal(file.attribute(name, key), variable.getncattr(key))
        np.testing.assert_array_equal(file.read("grown_i2", 1), expected["grown_i2"][1])
        np.testing.assert_array_equal(file.read("grown_f4", slice(1, 3), 2), expected["grown_f4"][1:3, 2])
        np.testing.assert_array_equal(file.read("fixed_f8", slice(1, 2)), expected["fixed_f8"][1:2])


def test_the_only_growing_variable_of_a_classic_file_is_not_padded(tmp_path):
    with netCDF4.Dataset(tmp_path / "a", "w", format="NETCDF3_CLASSIC") as dataset:
        dataset.createDimension("time", None)
        dataset.createDimension("x", 3)
        dataset.createVariable("short", "i2", ("time", "x"))[:] = np.arange(12).reshape(4, 3)
    with opened(tmp_path / "a") as file:
        np.testing.assert_array_equal(file.read("short"), np.arange(12).reshape(4, 3))


def test_dimensions_of_unusual_variables_in_netcdf4(tmp_path):
    with netCDF4.Dataset(tmp_path / "a", "w") as dataset:
        for name, size in (("time", 2), ("letter", 4), ("y", 3), ("x", 3)):
            dataset.createDimension(name, size)
        dataset.createVariable("time", "S1", ("time", "letter"))  # a coordinate of two dimensions
        dataset.createVariable("y", "f4", ("x",))  # called like a dimension, along another
        dataset.createVariable("square", "f4", ("x", "y"))
    with opened(tmp_path / "a") as file:
        assert set(file.names) == {"time", "y", "square"}
        assert file.dims("time") == ("time", "letter")
        assert file.dims("y") == ("x",)
        assert file.dims("square") == ("x", "y")


def test_hdf5_without_dimensions_and_text_of_any_length(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w", userblock_size=512) as file:
        dataset = file.create_dataset("speed", data=np.arange(6.0).reshape(2, 3))
        dataset.attrs["units"] = "m s-1"  # of variable length, kept in the global heap
        dataset.attrs["nothing"] = h5py.Empty("f4")
        file.create_group("group")
    with opened(tmp_path / "a.h5") as file:
        assert file.names == ("speed",)
        assert file.text("speed", "units") == "m s-1"
        assert file.text("speed", "nothing") == ""
        assert file.attribute("speed", "absent") is None
        assert len(set(file.dims("speed"))) == 2
        np.testing.assert_array_equal(file.values("speed", 1), [3, 4, 5])


TEXTS = ["KAAA", "Zürich", ""]


@pytest.mark.parametrize("way", ["characters", "characters, classic", "strings", "text of one length"])
def test_texts(tmp_path, way):
    path = tmp_path / "a.nc"
    encoded = [each.encode() for each in TEXTS]
    if way == "text of one length":
        with h5py.File(path, "w") as file:
            file["name"] = np.array(encoded, "S10")
            file["number"] = np.arange(3)
    else:
        with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC" if "classic" in way else "NETCDF4") as dataset:
            for dim, size in (("station", 3), ("length", 10)):
                dataset.createDimension(dim, size)
            if way == "strings":
                dataset.createVariable("name", str, ("station",))[:] = np.array(TEXTS, object)
            else:
                letters = np.frombuffer(b"".join(each.ljust(10) for each in encoded), "S1").reshape(3, 10)
                dataset.createVariable("name", "S1", ("station", "length"))[:] = letters
            dataset.createVariable("number", "i4", ("station",))[:] = np.arange(3)
    with opened(path) as file:
        assert file.texts("name").tolist() == TEXTS
        assert file.is_text("name")
        assert file.of_characters("name") == way.startswith("characters")
        assert not file.is_text("number")
        with pytest.raises(BadInput, match="number holds numbers, expected characters"):
            file.texts("number")
        with pytest.raises(BadInput, match="name holds characters, expected numbers"):
            file.values("name")


PACKED = [
    pytest.param(
        [0, 10, -99], "i2", {"scale_factor": 0.5, "add_offset": 2.0, "_FillValue": -99}, [2, 7, None], id="fill"
    ),
    pytest.param([1, 2, 3], "i2", {"missing_value": np.array([1, 3])}, [None, 2, None], id="two codes"),
    pytest.param([1, 2], "i2", {"missing_value": 99_999}, [1, 2], id="a code that the type cannot hold"),
    pytest.param([-1, 1], "i1", {"_Unsigned": "true"}, [255, 1], id="unsigned"),
    pytest.param([0, 5, 11], "i2", {"valid_min": 1, "valid_max": 10}, [None, 5, None], id="valid limits"),
    pytest.param([0, 5, 11], "f4", {"valid_range": np.array([1.0, 10.0])}, [None, 5, None], id="valid range"),
    pytest.param([1, np.inf, np.nan], "f8", {}, [1, None, None], id="not finite"),
    pytest.param([1, 9.969209968386869e36], "f4", {}, [1, None], id="never written"),
    pytest.param([1, -999.9], "f4", {"missing_value": -999.9}, [1, None], id="a code of another precision"),
    pytest.param([1, 2], ">f4", {"_FillValue": "none"}, [1, 2], id="a code that is no number"),
]


@pytest.mark.parametrize(("raw", "kind", "attributes", "expected"), PACKED)
def test_unpacked(raw, kind, attributes, expected):
    values = unpacked(np.array(raw, kind), attributes)
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, np.array(expected, float))


# --- refused -----------------------------------------------------------------------------------------------------

CONTENTS = [
    pytest.param(b"", "is empty", id="empty"),
    pytest.param(b"station,lat,lon\n", "not a netCDF file", id="text"),
    pytest.param(b"GRIB\x00\x00\x00\x02", "ends early", id="GRIB"),
    pytest.param(b"\x1f\x8b\x08\x00", "gzip", id="gzip"),
    pytest.param(b"<!DOCTYPE html>", "web page", id="the error page of a download"),
    pytest.param(b"CDF\x01", "ends within its header", id="classic, cut after its first bytes"),
    pytest.param(b"CDF\x02" + b"\xff" * 40, "header is damaged", id="classic, nonsense"),
    pytest.param(b"\x89HDF\r\n\x1a\n", "cannot be read", id="HDF5, cut after its first bytes"),
]


@pytest.mark.parametrize(("content", "message"), CONTENTS)
def test_not_a_netcdf_file(tmp_path, content, message):
    path = tmp_path / "wrfout"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=message) as raised, opened(path):
        pass
    assert str(path) in str(raised.value)


def test_not_a_file_at_all(tmp_path):
    with pytest.raises(BadInput, match="is a directory"), opened(tmp_path):
        pass
    with pytest.raises(MissingInput, match="no such file"), opened(tmp_path / "absent"):
        pass
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="device or a pipe"), opened(tmp_path / "pipe"):
        pass


@pytest.mark.parametrize("data_model", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA", "NETCDF4"])
def test_a_file_that_was_cut_off(tmp_path, data_model):
    whole = tmp_path / "whole"
    write_everything(whole, data_model)
    content = whole.read_bytes()
    cut = tmp_path / "cut"
    for size in (len(content) - 30, len(content) // 2, 200):
        cut.write_bytes(content[:size])
        with pytest.raises(BadInput, match=r"ends (early|within)"), opened(cut):
            pass


def test_a_variable_that_is_not_there(wrf):
    with opened(wrf) as file, pytest.raises(BadInput, match="there is no variable GUST"):
        file.values("GUST")
    with opened(wrf) as file, pytest.raises(BadInput, match="Times holds characters"):
        file.values("Times")


def test_a_heap_on_which_hdf5_would_stay_for_ever(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["speed"] = np.arange(4.0)
        file["speed"].attrs["units"] = "m s-1"
    content = bytearray(path.read_bytes())
    first = content.index(b"GCOL") + 16  # the head of the first object: number, references, length
    content[first : first + 16] = bytes(16)  # free space that takes none
    path.write_bytes(content)
    with opened(path) as file, pytest.raises(BadInput, match=r"speed: .* heap of text is damaged"):
        file.text("speed", "units")


def test_strings_in_a_heap_on_which_hdf5_would_stay_for_ever(tmp_path):
    path = tmp_path / "a.h5"
    with netCDF4.Dataset(path, "w") as dataset:
        dataset.createDimension("station", 2)
        dataset.createVariable("name", str, ("station",))[:] = np.array(["a", "b"], object)
    content = bytearray(path.read_bytes())
    first = content.index(b"GCOL") + 16
    content[first : first + 16] = bytes(16)
    path.write_bytes(content)
    with pytest.raises(BadInput, match="heap of text is damaged"), opened(path):  # even its fill value lies there
        pass


def test_a_claim_to_be_too_large(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("huge", shape=(LARGEST, 4), dtype="f4", chunks=(1024, 4))
    with opened(tmp_path / "a.h5") as file:
        assert file.read("huge", slice(0, 2)).shape == (2, 4)
        with pytest.raises(BadInput, match="huge claims"):
            file.read("huge")


# --- files that point at other files -----------------------------------------------------------------------------


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.h5"
    with h5py.File(path, "w") as file:
        file["U10"] = np.arange(4.0)
    (tmp_path / "secret.bin").write_bytes(np.arange(4.0).tobytes())
    return path


def external_storage(file, secret):
    file.create_dataset("U10", (4,), "f8", external=[(str(secret.with_suffix(".bin")), 0, 32)])


def external_link(file, secret):
    file["U10"] = h5py.ExternalLink(str(secret), "/U10")


def virtual_dataset(file, secret):
    layout = h5py.VirtualLayout((4,), "f8")
    layout[:] = h5py.VirtualSource(str(secret), "U10", (4,))
    file.create_virtual_dataset("U10", layout)


@pytest.mark.parametrize("place", ["", "group/inner"])
@pytest.mark.parametrize("trick", [external_storage, external_link, virtual_dataset])
def test_another_file_is_never_read(tmp_path, secret, trick, place):
    path = tmp_path / "wrfout"
    with h5py.File(path, "w") as file:
        file["harmless"] = np.arange(3)
        trick(file.require_group(place) if place else file, secret)
    with pytest.raises(BadInput, match="another file") as raised, opened(path):
        pass
    assert "U10" in str(raised.value)
    assert "secret" in str(raised.value)


def test_links_and_views_within_a_file_are_fine(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["speed"] = np.arange(4.0)
        file["also"] = h5py.SoftLink("/speed")
        file["nowhere"] = h5py.SoftLink("/absent")
        layout = h5py.VirtualLayout((4,), "f8")
        layout[:] = h5py.VirtualSource(".", "speed", (4,))
        file.create_virtual_dataset("view", layout)
        file.create_group("loop")["back"] = file["/"]  # a group within itself
    with opened(tmp_path / "a.h5") as file:
        assert set(file.names) == {"speed", "also", "view"}
        np.testing.assert_array_equal(file.read("also"), np.arange(4.0))


# --- files that are still being written --------------------------------------------------------------------------


def test_a_file_that_grew_since_it_was_looked_at(wrf):
    seen = look(wrf)
    with opened(wrf, seen=seen) as file:
        assert "U10" in file
    with wrf.open("ab") as stream:
        stream.write(b"more")
    with pytest.raises(BadInput, match=r"went from \d+ to \d+ bytes .* still being written"), opened(wrf, seen=seen):
        pass


def read_meanwhile(path, happening):
    with opened(path) as file:
        file.read("U10")
        happening()


def test_a_file_that_changes_while_it_is_read(wrf):
    with pytest.raises(BadInput, match="was written to while it was read"):
        read_meanwhile(wrf, lambda: os.utime(wrf, ns=(0, look(wrf).modified + 1)))


def test_a_file_that_another_program_has_open_to_write(wrf):
    with (
        netCDF4.Dataset(wrf, "a"),
        pytest.raises(BadInput, match="another program is still writing it"),
        opened(wrf),
    ):
        pass


def test_a_model_can_write_its_file_while_we_read_it_and_we_notice(wrf):
    def write():
        code = f"import netCDF4; netCDF4.Dataset({str(wrf)!r}, 'a').close()"
        subprocess.run([sys.executable, "-c", code], check=True)

    with pytest.raises(BadInput, match="while it was read: it is still being written"):
        read_meanwhile(wrf, write)


# --- threads and damage, in processes of their own ---------------------------------------------------------------


def test_eight_threads_reading_at_once(wrf):
    code = """
        import sys
        from concurrent.futures import ThreadPoolExecutor
        from pathlib import Path
        import netCDF4
        import numpy as np
        from tasks.readers.hdf import LOCK, opened

        path = Path(sys.argv[1])

        def read(number):
            for _ in range(50):
                with opened(path) as file:
                    values = [file.values(name) for name in ("U10", "V10", "XLAT")]
            return float(sum(each.sum() for each in values))

        def write(number):
            for _ in range(20):
                with LOCK, netCDF4.Dataset(path.with_name(f"other{number}"), "w") as dataset:
                    dataset.createDimension("x", 1000)
                    dataset.createVariable("a", "f4", ("x",), zlib=True)[:] = np.arange(1000)
            return None

        with ThreadPoolExecutor(9) as pool:
            written = pool.submit(write, 0)
            assert len({*pool.map(read, range(8))}) == 1
            written.result()
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(wrf)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


READS = """
    import os, resource, signal, sys
    import numpy as np
    from metrics.errors import FirecardError
    from tasks.matching.locate import Cells
    from tasks.readers.grids import describe, sample_all

    resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
    for line in sys.stdin:
        child = os.fork()  # every file in a process of its own
        if child:
            _, status = os.waitpid(child, 0)
            if status:
                print(f"died: {status}", flush=True)
            continue
        signal.alarm(20)
        try:
            files = describe([line.strip()])
            one = np.zeros((1, 1), int), np.ones((1, 1)), np.ones(1, bool)
            sample_all(files, list(files.offers), [Cells(grid.shape, *one) for grid in files.grids])
            print("read", flush=True)
        except FirecardError as error:
            print("refused" if line.strip() in str(error) else f"refused without a name: {error}", flush=True)
        os._exit(0)
"""
SECONDS = 20  # for one file; longer is for ever


class Worker:
    """A process that has a fresh child read each file, and is started anew when it dies or hangs itself."""

    def __init__(self):
        self.process = None

    def read(self, path):
        if self.process is None:
            command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(READS)]
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        # The first answer waits for imports.
        alarm = threading.Timer(SECONDS * 3, self.process.kill)
        alarm.start()
        print(path, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline().strip()
        alarm.cancel()
        if not answer:
            answer = f"died: {self.process.wait()} {self.process.stderr.read()[-500:]}"
            self.stop()
        return answer

    def stop(self):
        if self.process:
            for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
                stream.close()
            self.process.wait()
        self.process = None


def damaged(content, number):
    """A copy that is cut off, or has a few bits or bytes flipped."""
    rng = np.random.default_rng(number)
    if number % 4 == 0:
        return content[: rng.integers(len(content))]
    flipped = np.frombuffer(content, "u1").copy()
    places = rng.integers(len(content), size=rng.integers(1, 30))
    flipped[places] ^= (
        1 << rng.integers(8, size=places.size) if number % 2 else rng.integers(1, 256, places.size)
    ).astype("u1")
    return flipped.tobytes()


def test_two_hundred_damaged_copies_crash_nobody(tmp_path, wrf):
    content = wrf.read_bytes()

    def answers(start):
        worker = Worker()
        found = []
        for number in range(start, 200, 2):
            path = tmp_path / f"copy{number}"
            path.write_bytes(damaged(content, number))
            found.append(worker.read(path))
            path.unlink()
        worker.stop()
        return found

    with ThreadPoolExecutor(2) as pool:
        counts = Counter(answer for found in pool.map(answers, range(2)) for answer in found)
    assert set(counts) <= {"read", "refused"}, counts
    assert counts["refused"] >= 50  # every copy that was cut off, and most of the others
    assert counts.total() == 200

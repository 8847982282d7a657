"""Wind on a map and on the earth: rotation, speed and direction, height.

Models write wind along the axes of their grid; stations report it along east and north. The angle α from east to the
grid's x axis, counter-clockwise, turns one into the other, as WRF's SINALPHA and COSALPHA do:

    u_earth = u cos α − v sin α
    v_earth = v cos α + u sin α

`earth_relative`, `speed_and_direction` and `log_law` take numbers, numpy arrays, dask arrays and xarray
alike: lazy in, lazy out, in float64.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.errors import BadInput, BadParameter

Array: TypeAlias = Any
"""A number, or an array of numpy, dask or xarray: what comes in goes out."""

Floats: TypeAlias = NDArray[np.float64]

LAMBERT, POLAR_STEREOGRAPHIC, MERCATOR, LAT_LON = 1, 2, 3, 6  # WRF's MAP_PROJ

SKEW = np.sin(np.radians(1.0))  # axes of a map farther than 1° from perpendicular have no single angle to east


def earth_relative(u: Array, v: Array, sine: Array, cosine: Array) -> tuple[Array, Array]:
    """Eastward and northward wind from wind along the axes of the grid; missing where either part is missing."""
    u, v, sine, cosine = (_float(each) for each in (u, v, sine, cosine))
    return u * cosine - v * sine, v * cosine + u * sine


def speed_and_direction(u: Array, v: Array) -> tuple[Array, Array]:
    """Speed, and the direction the wind comes from in degrees clockwise from north, 0 ≤ direction < 360.

    A wind of exactly zero has no direction: it is missing.

    >>> speed_and_direction(-3.0, -3.0)[1]
    np.float64(45.0)
    """
    u, v = _float(u), _float(v)
    speed = np.hypot(u, v)
    # The second modulo turns the 360 that rounding makes of −1e-15 into 0.
    direction = np.degrees(np.arctan2(-u, -v)) % 360 % 360
    return speed, _where(speed != 0, direction, np.nan)


def log_law(speed: Array, from_height: Array, to_height: Array, roughness: Array) -> Array:
    """Speed at `to_height` from that at `from_height`, by the logarithmic profile of neutral air over flat ground.

    Heights and the roughness length are in metres; missing where a height is missing.

    >>> round(float(log_law(10.0, 10.0, 6.1, 0.03)), 3)
    9.149
    """
    if not np.all(np.isfinite(roughness) & (np.asarray(roughness) > 0)):
        raise BadParameter(f"roughness = {roughness} m, expected more than 0")
    for name, height in (("from_height", from_height), ("to_height", to_height)):
        if np.any(_float(height) <= roughness):
            raise BadParameter(f"{name} = {height} m is not above the roughness length {roughness} m")
    roughness = _float(roughness)
    return _float(speed) * (np.log(_float(to_height) / roughness) / np.log(_float(from_height) / roughness))


def rotation_from_projection(projection: Any, latitude: ArrayLike, longitude: ArrayLike) -> tuple[Floats, Floats]:
    """Sine and cosine of the angle from east to the map's x axis, counter-clockwise, at points in degrees.

    `projection` is the global attributes of a WRF file (recognised by MAP_PROJ), the attributes of a CF grid mapping,
    or anything that `pyproj.CRS` understands. The axis is that of growing x, also where a file stores x from east to
    west. Missing where a coordinate is missing or the map has no such place.
    """
    latitude, longitude = np.broadcast_arrays(_plain(latitude), _plain(longitude))
    if isinstance(projection, Mapping) and "MAP_PROJ" in projection:
        angle = _wrf_angle(projection, latitude, longitude)
        return np.sin(angle), np.cos(angle)
    return _map_rotation(_map(projection), latitude, longitude)


def _wrf_angle(attributes: Mapping[str, Any], latitude: Floats, longitude: Floats) -> Floats:
    """The angle in radians by WRF's own formulas."""
    projection = _attribute(attributes, "MAP_PROJ")
    if projection == LAMBERT:
        return -_cone(attributes) * _east_of(longitude, _attribute(attributes, "STAND_LON"))
    if projection == POLAR_STEREOGRAPHIC:
        hemisphere = np.sign(_attribute(attributes, "TRUELAT1"))
        if not hemisphere:
            raise BadInput("TRUELAT1 = 0 does not say which pole the map is seen from")
        return np.asarray(-hemisphere * _east_of(longitude, _attribute(attributes, "STAND_LON")))
    if projection == MERCATOR:
        return np.zeros(longitude.shape)
    if projection == LAT_LON:
        pole = _attribute(attributes, "POLE_LAT", 90.0)
        if abs(pole) == 90:
            return np.zeros(longitude.shape)
        # WRF puts the pole of the computational grid at (POLE_LAT, 180° − STAND_LON); POLE_LON only shifts its columns.
        return -_bearing(latitude, longitude, pole, 180 - _attribute(attributes, "STAND_LON"))
    raise BadInput(
        f"MAP_PROJ = {projection:g} is none of Lambert (1), polar stereographic (2), Mercator (3) and lat-lon (6): "
        "the orientation of its winds is unknown"
    )


def _cone(attributes: Mapping[str, Any]) -> float:
    """How much of a turn the map makes for a turn round the earth; negative when it is seen from the south pole."""
    first = _attribute(attributes, "TRUELAT1")
    second = _attribute(attributes, "TRUELAT2", first)
    if abs(second) > 90:  # WRF's way to say that there is one only
        second = first
    if first * second < 0 or first == second == 0 or max(abs(first), abs(second)) >= 90:
        raise BadInput(f"TRUELAT1 = {first:g} and TRUELAT2 = {second:g} do not make a Lambert cone")
    one, two = np.radians([abs(first), abs(second)])
    if abs(first - second) <= 0.1:  # WRF's own limit, below which the quotient loses its digits
        cone = np.sin(one)
    else:
        cone = np.log(np.cos(one) / np.cos(two)) / np.log(np.tan(np.pi / 4 - one / 2) / np.tan(np.pi / 4 - two / 2))
    return float(np.copysign(cone, first or second))


def _bearing(latitude: Floats, longitude: Floats, to_latitude: float, to_longitude: float) -> Floats:
    """Direction to a place along the great circle, in radians clockwise from north."""
    here, there = np.radians(latitude), np.radians(to_latitude)
    turn = -_east_of(longitude, to_longitude)
    east = np.cos(there) * np.sin(turn)
    north = np.cos(here) * np.sin(there) - np.sin(here) * np.cos(there) * np.cos(turn)
    return np.asarray(np.arctan2(east, north))


def _east_of(longitude: Floats, meridian: float) -> Floats:
    """Radians east of a meridian, −π to π."""
    east = longitude - meridian
    return np.radians(east - 360 * np.round(east / 360))


def _attribute(attributes: Mapping[str, Any], name: str, default: float | None = None) -> float:
    value = attributes.get(name, default)
    if value is None:
        raise BadInput(f"attribute {name} is missing, and the orientation of winds depends on it")
    try:
        number = float(np.asarray(value).item())
    except (TypeError, ValueError) as error:
        raise BadInput(f"attribute {name} = {value!r} is not one number") from error
    if not np.isfinite(number):
        raise BadInput(f"attribute {name} = {number} is not a finite number")
    return number


def _map(projection: Any) -> Any:
    """The pyproj CRS of a CF grid mapping or of anything that pyproj takes, without any shift to another datum."""
    import pyproj

    try:
        if isinstance(projection, Mapping):
            crs = pyproj.CRS.from_cf({str(name): _simple(value) for name, value in projection.items()})
        else:
            crs = pyproj.CRS.from_user_input(projection)
    except (pyproj.exceptions.CRSError, KeyError, TypeError, ValueError) as error:
        said = projection.get("grid_mapping_name", "no grid_mapping_name") if isinstance(projection, Mapping) else ""
        raise BadInput(f"projection not understood ({said or projection!r}): {error}") from error
    if crs.is_bound and crs.source_crs is not None:
        crs = crs.source_crs
    if not (crs.is_geographic or crs.is_projected):
        raise BadInput(f"projection {crs.name!r} ({crs.type_name}) is no map: the orientation of its winds is unknown")
    return crs


def _simple(value: Any) -> Any:
    """An attribute as plain Python, a list of one as its element: what pyproj expects."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    return value[0] if isinstance(value, list | tuple) and len(value) == 1 else value


def _map_rotation(crs: Any, latitude: Floats, longitude: Floats) -> tuple[Floats, Floats]:
    """Sine and cosine from the direction in space of a small step along the map's x axis."""
    import pyproj

    if not crs.is_derived:  # plain latitude and longitude
        return np.zeros(longitude.shape), np.ones(longitude.shape)
    step = 0.01 if crs.is_geographic else 1000 / crs.axis_info[0].unit_conversion_factor
    to_map = pyproj.Transformer.from_crs(crs.source_crs, crs, always_xy=True)
    flattening = 1 / crs.ellipsoid.inverse_flattening if crs.ellipsoid.inverse_flattening else 0.0

    def east_north(lat: Floats, lon: Floats, along: tuple[float, float]) -> tuple[Floats, Floats]:
        x, y = to_map.transform(lon, lat)

        def place(steps: int) -> Floats:
            there = to_map.transform(x + steps * along[0], y + steps * along[1], direction="INVERSE")
            return _in_space(np.asarray(there[1]), np.asarray(there[0]), flattening)

        east, north = _tangents(lat, lon)
        ahead = _derivative(place)
        return (ahead * east).sum(axis=-1), (ahead * north).sum(axis=-1)

    lat, lon = latitude.ravel(), longitude.ravel()
    present = np.flatnonzero(np.isfinite(lat) & np.isfinite(lon))
    lat, lon = lat[present], lon[present]
    some = slice(None, None, max(1, lat.size // 100))
    (ex, nx), (ey, ny) = (east_north(lat[some], lon[some], along) for along in ((step, 0.0), (0.0, step)))
    skew = np.abs(ex * ey + nx * ny) - SKEW * np.hypot(ex, nx) * np.hypot(ey, ny)
    if (skew > 0).any():
        raise BadInput(f"x and y of projection {crs.name!r} are not perpendicular on the earth: winds need two angles")
    east, north = east_north(lat, lon, (step, 0.0))
    length = np.hypot(east, north)
    length[length == 0] = np.nan
    sine, cosine = np.full((2, longitude.size), np.nan)
    sine[present], cosine[present] = north / length, east / length
    return sine.reshape(longitude.shape), cosine.reshape(longitude.shape)


def _derivative(place: Callable[[int], Floats]) -> Floats:
    """Direction of travel at step 0, up to a factor, by five-point differences; missing off the map."""
    places = {steps: place(steps) for steps in (-2, -1, 1, 2)}
    return 8 * (places[1] - places[-1]) - (places[2] - places[-2])


def _in_space(lat: Floats, lon: Floats, flattening: float) -> Floats:
    """Points (…, 3) on an ellipsoid of equatorial radius 1; missing where pyproj answers infinity."""
    found = np.isfinite(lat) & np.isfinite(lon)
    phi, lam = np.radians(np.where(found, lat, np.nan)), np.radians(np.where(found, lon, np.nan))
    square = flattening * (2 - flattening)
    radius = 1 / np.sqrt(1 - square * np.sin(phi) ** 2)
    flat = radius * np.cos(phi)
    return np.stack([flat * np.cos(lam), flat * np.sin(lam), radius * (1 - square) * np.sin(phi)], axis=-1)


def _tangents(lat: Floats, lon: Floats) -> tuple[Floats, Floats]:
    """Unit vectors (…, 3) to east and north."""
    phi, lam = np.radians(lat), np.radians(lon)
    east = np.stack([-np.sin(lam), np.cos(lam), np.zeros_like(lam)], axis=-1)
    north = np.stack([-np.sin(phi) * np.cos(lam), -np.sin(phi) * np.sin(lam), np.cos(phi)], axis=-1)
    return east, north


def _float(values: Array) -> Array:
    return values.astype(np.float64) if hasattr(values, "astype") else np.asarray(values, dtype=np.float64)[()]


def _plain(values: ArrayLike) -> Floats:
    if isinstance(values, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
    return np.asarray(values, dtype=np.float64)


def _where(condition: Array, values: Array, otherwise: float) -> Array:
    """`values` where the condition holds; numpy's own would load a lazy xarray."""
    if hasattr(values, "where"):
        return values.where(condition, otherwise)
    return np.where(condition, values, otherwise)[()]

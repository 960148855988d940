/* The loops over every byte or every record of a batch: its CRC, the walk over its records, and the
 * packing of records.
 *
 * The walk reads the fields of each record in their order and copies none. The data come in
 * pieces of any size, because compressed batches are decompressed into a small buffer: the walk
 * can stop between any two bytes and go on with the next piece. Its Python twin is
 * broker/protocol/record_walk_python.py; a test feeds both the same bytes and compares. The rules
 * and the sentences for each problem stand in broker/protocol/record_walk.py. The twin of
 * `pack_records` stands in broker/protocol/records.py.
 *
 * Only the stable ABI of Python 3.11 is used, so one build serves all later versions.
 */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <structmember.h>

enum field {
    RECORD_SIZE, TIMESTAMP, OFFSET, KEY_SIZE, VALUE_SIZE, HEADER_COUNT,
    NAME_SIZE, HEADER_VALUE_SIZE
};

/* The numbers are those of `Problem` in record_walk_python.py. */
enum problem {
    FINE, VARINT_TOO_LONG, BAD_SIZE, FIELD_TOO_LONG, NOT_FILLED, BAD_HEADER_COUNT, NO_HEADER_NAME,
    WRONG_OFFSET, TRAILING_BYTES, CUT_OFF
};

#define SMALLEST_BODY 6
#define NAMED_MAX 1000

typedef struct {
    PyObject_HEAD
    /* What is asked of the records. */
    long long count, earliest, latest, absent;
    char needs_key;
    /* Where the walk stands. */
    int field, shift;
    uint64_t raw;
    long long left, skip, headers_left, delta;
    /* What was found. */
    long long records, largest, rejected_count;
    int problem;
    PyObject *rejected;
} Walk;

static int reject(Walk *walk, int is_timestamp)
{
    walk->rejected_count++;
    if (walk->rejected == NULL && (walk->rejected = PyList_New(0)) == NULL)
        return -1;
    if (PyList_Size(walk->rejected) >= NAMED_MAX)
        return 0;
    PyObject *item = is_timestamp ? Py_BuildValue("(LL)", walk->records, walk->delta)
                                  : Py_BuildValue("(LO)", walk->records, Py_None);
    if (item == NULL)
        return -1;
    int failed = PyList_Append(walk->rejected, item);
    Py_DECREF(item);
    return failed;
}

static int judge(Walk *walk, int has_key)
{
    if (!has_key && walk->needs_key)
        return reject(walk, 0);
    if ((walk->delta < walk->earliest || walk->delta > walk->latest) && walk->delta != walk->absent)
        return reject(walk, 1);
    return 0;
}

/* One number was read: what it means for the record. Returns -1 when Python raised. */
static int take(Walk *walk, long long number)
{
    switch (walk->field) {
    case RECORD_SIZE:
        if (walk->records >= walk->count)
            walk->problem = TRAILING_BYTES;
        else if (number < SMALLEST_BODY)
            walk->problem = BAD_SIZE;
        walk->left = number - 1; /* without the attributes, which are one byte */
        walk->skip = 1;
        walk->field = TIMESTAMP;
        return 0;
    case TIMESTAMP:
        if (walk->records == 0 || number > walk->largest)
            walk->largest = number;
        walk->delta = number;
        walk->field = OFFSET;
        return 0;
    case OFFSET:
        if (number != walk->records)
            walk->problem = WRONG_OFFSET;
        walk->field = KEY_SIZE;
        return 0;
    case KEY_SIZE:
        if (judge(walk, number >= 0) < 0)
            return -1;
        walk->field = VALUE_SIZE;
        break;
    case VALUE_SIZE:
        walk->field = HEADER_COUNT;
        break;
    case HEADER_COUNT:
        /* A header takes two bytes at least. */
        if (number < 0 || number > walk->left / 2) {
            walk->problem = BAD_HEADER_COUNT;
            return 0;
        }
        walk->headers_left = number;
        walk->field = NAME_SIZE;
        number = 0;
        break;
    case NAME_SIZE:
        if (number < 0) {
            walk->problem = NO_HEADER_NAME;
            return 0;
        }
        walk->field = HEADER_VALUE_SIZE;
        break;
    case HEADER_VALUE_SIZE:
        walk->headers_left--;
        walk->field = NAME_SIZE;
        break;
    }
    if (number > walk->left) {
        walk->problem = FIELD_TOO_LONG;
        return 0;
    }
    if (number > 0) {
        walk->skip = number;
        walk->left -= number;
    }
    if (walk->field == NAME_SIZE && walk->headers_left == 0) {
        if (walk->left != 0)
            walk->problem = NOT_FILLED;
        else
            walk->records++;
        walk->field = RECORD_SIZE;
    }
    return 0;
}

static int feed(Walk *walk, const uint8_t *at, const uint8_t *end)
{
    while (walk->problem == FINE) {
        if (walk->skip) {
            long long there = end - at;
            long long step = walk->skip < there ? walk->skip : there;
            at += step;
            walk->skip -= step;
        }
        if (at == end)
            return 0;
        uint8_t byte = *at++;
        if (walk->field != RECORD_SIZE && walk->left-- == 0) {
            walk->problem = FIELD_TOO_LONG;
            return 0;
        }
        /* A timestamp has up to 64 bits, every other number 32. */
        int last_shift = walk->field == TIMESTAMP ? 63 : 28;
        uint8_t last_byte = walk->field == TIMESTAMP ? 0x01 : 0x0F;
        if (walk->shift == last_shift && byte > last_byte) {
            walk->problem = VARINT_TOO_LONG;
            return 0;
        }
        walk->raw |= (uint64_t)(byte & 0x7F) << walk->shift;
        if (byte & 0x80) {
            walk->shift += 7;
            continue;
        }
        long long number = (long long)(walk->raw >> 1) ^ -(long long)(walk->raw & 1);
        walk->raw = 0;
        walk->shift = 0;
        if (take(walk, number) < 0)
            return -1;
    }
    return 0;
}

static void finish(Walk *walk)
{
    if (walk->problem == FINE
        && (walk->records != walk->count || walk->field != RECORD_SIZE || walk->shift || walk->skip))
        walk->problem = CUT_OFF;
}

static int set_up(Walk *walk, PyObject *args, Py_buffer *data)
{
    int needs_key;
    if (data == NULL) {
        if (!PyArg_ParseTuple(args, "LpLLL", &walk->count, &needs_key, &walk->earliest,
                              &walk->latest, &walk->absent))
            return -1;
    } else if (!PyArg_ParseTuple(args, "y*LpLLL", data, &walk->count, &needs_key, &walk->earliest,
                                 &walk->latest, &walk->absent))
        return -1;
    walk->needs_key = (char)needs_key;
    return 0;
}

static int walk_init(PyObject *self, PyObject *args, PyObject *Py_UNUSED(keywords))
{
    return set_up((Walk *)self, args, NULL);
}

static void walk_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((Walk *)self)->rejected);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *walk_feed(PyObject *self, PyObject *data)
{
    Py_buffer buffer;
    if (PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE) < 0)
        return NULL;
    const uint8_t *at = buffer.buf;
    int failed = feed((Walk *)self, at, at + buffer.len);
    PyBuffer_Release(&buffer);
    return failed ? NULL : PyLong_FromLong(((Walk *)self)->problem);
}

static PyObject *walk_finish(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    finish((Walk *)self);
    return PyLong_FromLong(((Walk *)self)->problem);
}

/* largest_delta(data, count, needs_key, earliest, latest, absent): the largest timestamp delta when
 * all records are good, and None when one is not. Nothing is allocated. */
static PyObject *largest_delta(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer buffer;
    Walk walk = {0};
    if (set_up(&walk, args, &buffer) < 0)
        return NULL;
    const uint8_t *at = buffer.buf;
    int failed = feed(&walk, at, at + buffer.len);
    PyBuffer_Release(&buffer);
    finish(&walk);
    Py_XDECREF(walk.rejected);
    if (failed)
        return NULL;
    if (walk.problem != FINE || walk.rejected_count)
        Py_RETURN_NONE;
    return PyLong_FromLongLong(walk.largest);
}

/* CRC-32C, in registers: without the inversion before and after. Bit 31 stands for x^0. */

#define POLYNOMIAL 0x82F63B78u
#define STREAM_SIZE 8192 /* three of them fit in the first cache */

static uint32_t crc_table[256];
static uint32_t after_one_stream, after_two_streams;

static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
        if (a & bit)
            product ^= b;
        b = b & 1 ? (b >> 1) ^ POLYNOMIAL : b >> 1;
    }
    return product;
}

/* x to the power of 8 * size: a register times this is the register after `size` zero bytes. */
static uint32_t zeros(uint64_t size)
{
    uint32_t result = 1u << 31, power = 1u << 23;
    for (; size != 0; size >>= 1) {
        if (size & 1)
            result = multiply(result, power);
        power = multiply(power, power);
    }
    return result;
}

static void set_up_crc(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? (value >> 1) ^ POLYNOMIAL : value >> 1;
        crc_table[byte] = value;
    }
    after_one_stream = zeros(STREAM_SIZE);
    after_two_streams = zeros(2 * STREAM_SIZE);
}

static uint32_t extend_by_table(uint32_t crc, const uint8_t *at, const uint8_t *end)
{
    while (at < end)
        crc = crc_table[(crc ^ *at++) & 0xFF] ^ (crc >> 8);
    return crc;
}

#if defined(__x86_64__)
#include <nmmintrin.h>

static uint64_t word(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* The instruction takes three cycles, but three of them run side by side. */
__attribute__((target("sse4.2")))
static uint32_t extend_by_processor(uint32_t crc, const uint8_t *at, const uint8_t *end)
{
    while (end - at >= 3 * STREAM_SIZE) {
        uint64_t first = crc, second = 0, third = 0;
        for (const uint8_t *stop = at + STREAM_SIZE; at < stop; at += 8) {
            first = _mm_crc32_u64(first, word(at));
            second = _mm_crc32_u64(second, word(at + STREAM_SIZE));
            third = _mm_crc32_u64(third, word(at + 2 * STREAM_SIZE));
        }
        crc = multiply(after_two_streams, (uint32_t)first)
              ^ multiply(after_one_stream, (uint32_t)second) ^ (uint32_t)third;
        at += 2 * STREAM_SIZE;
    }
    uint64_t wide = crc;
    for (; end - at >= 8; at += 8)
        wide = _mm_crc32_u64(wide, word(at));
    crc = (uint32_t)wide;
    for (; at < end; at++)
        crc = _mm_crc32_u8(crc, *at);
    return crc;
}

static uint32_t crc32c(uint32_t crc, const uint8_t *at, const uint8_t *end)
{
    crc = ~crc;
    crc = __builtin_cpu_supports("sse4.2") ? extend_by_processor(crc, at, end)
                                           : extend_by_table(crc, at, end);
    return ~crc;
}
#else
static uint32_t crc32c(uint32_t crc, const uint8_t *at, const uint8_t *end)
{
    return ~extend_by_table(~crc, at, end);
}
#endif

/* crc32c(data, crc): the CRC of the bytes before them, extended by these. */
static PyObject *extended_crc(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer buffer;
    unsigned int crc = 0;
    if (!PyArg_ParseTuple(args, "y*|I", &buffer, &crc))
        return NULL;
    const uint8_t *at = buffer.buf;
    crc = crc32c(crc, at, at + buffer.len);
    PyBuffer_Release(&buffer);
    return PyLong_FromUnsignedLong(crc);
}

static uint64_t big_endian(const uint8_t *at, int size)
{
    uint64_t value = 0;
    while (size--)
        value = value << 8 | *at++;
    return value;
}

static int is_plain(const uint8_t *at, Py_ssize_t size, long long earliest, long long latest)
{
    if (size < 61 || (int32_t)big_endian(at + 8, 4) != size - 12 || at[16] != 2
        || big_endian(at, 8) != 0 || big_endian(at + 21, 2) != 0
        || (int64_t)big_endian(at + 43, 8) >= 0)
        return 0;
    Walk walk = {.count = (int32_t)big_endian(at + 57, 4)};
    long long base = (int64_t)big_endian(at + 27, 8);
    long long largest = (int64_t)big_endian(at + 35, 8);
    if (walk.count <= 0 || walk.count != (int32_t)big_endian(at + 23, 4) + 1LL || base < 0
        || largest < base || largest > latest || largest < earliest)
        return 0;
    if (crc32c(0, at + 21, at + size) != (uint32_t)big_endian(at + 17, 4))
        return 0;
    walk.latest = largest - base;
    walk.earliest = earliest > 0 ? earliest - base : -base;
    walk.absent = walk.latest; /* which is good: records without a timestamp are not plain */
    feed(&walk, at + 61, at + size);
    finish(&walk);
    Py_XDECREF(walk.rejected);
    return walk.problem == FINE && walk.rejected_count == 0 && walk.largest == walk.latest;
}

/* is_plain(batch, earliest, latest): see validation.plain_header, which it makes fast. */
static PyObject *is_plain_batch(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer buffer;
    long long earliest, latest;
    if (!PyArg_ParseTuple(args, "y*LL", &buffer, &earliest, &latest))
        return NULL;
    int found = is_plain(buffer.buf, buffer.len, earliest, latest);
    PyBuffer_Release(&buffer);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(found);
}

/* Records as bytes: the sizes first, then one piece of memory for all of them. */

static int varint_size(int64_t number)
{
    uint64_t raw = (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
    int size = 1;
    while (raw >>= 7)
        size++;
    return size;
}

static char *put_varint(char *at, int64_t number)
{
    uint64_t raw = (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
    for (; raw > 0x7F; raw >>= 7)
        *at++ = (char)(raw | 0x80);
    *at++ = (char)raw;
    return at;
}

/* A length and so many bytes, or -1 for None. With `at` NULL only the size is added up. Returns
 * 0, or -1 with an exception. */
static int add_field(PyObject *field, Py_ssize_t *size, char **at)
{
    char *data = NULL;
    Py_ssize_t length = -1;
    if (field == NULL || (field != Py_None && PyBytes_AsStringAndSize(field, &data, &length) < 0))
        return -1;
    if (at == NULL) {
        *size += varint_size(length) + (length > 0 ? length : 0);
    } else {
        *at = put_varint(*at, length);
        if (length > 0)
            memcpy(*at, data, length);
        *at += length > 0 ? length : 0;
    }
    return 0;
}

static void add_number(int64_t number, Py_ssize_t *size, char **at)
{
    if (at == NULL)
        *size += varint_size(number);
    else
        *at = put_varint(*at, number);
}

/* All of a record but its size. The offset and the timestamp are those of the batch's first. */
static int add_record(PyObject *record, int64_t offset, int64_t timestamp, Py_ssize_t *size,
                      char **at)
{
    PyObject *own_offset = PyTuple_GetItem(record, 0), *own_timestamp = PyTuple_GetItem(record, 1);
    PyObject *headers = PyTuple_GetItem(record, 4);
    if (own_offset == NULL || own_timestamp == NULL || headers == NULL)
        return -1;
    uint64_t offset_delta = (uint64_t)PyLong_AsLongLong(own_offset) - (uint64_t)offset;
    uint64_t timestamp_delta = (uint64_t)PyLong_AsLongLong(own_timestamp) - (uint64_t)timestamp;
    Py_ssize_t header_count = PyTuple_Size(headers);
    if (PyErr_Occurred())
        return -1;
    if (at == NULL)
        *size += 1; /* attributes */
    else
        *(*at)++ = 0;
    add_number((int64_t)timestamp_delta, size, at);
    add_number((int64_t)offset_delta, size, at);
    if (add_field(PyTuple_GetItem(record, 2), size, at) < 0
        || add_field(PyTuple_GetItem(record, 3), size, at) < 0)
        return -1;
    add_number(header_count, size, at);
    for (Py_ssize_t number = 0; number < header_count; number++) {
        PyObject *header = PyTuple_GetItem(headers, number);
        if (add_field(PyTuple_GetItem(header, 0), size, at) < 0
            || add_field(PyTuple_GetItem(header, 1), size, at) < 0)
            return -1;
    }
    return 0;
}

/* pack_records(records, base_offset, base_timestamp): `records` is a list of `Record`. */
static PyObject *pack_records(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *records;
    long long offset, timestamp;
    if (!PyArg_ParseTuple(args, "O!LL", &PyList_Type, &records, &offset, &timestamp))
        return NULL;
    Py_ssize_t count = PyList_Size(records), total = 0;
    Py_ssize_t *sizes = PyMem_Calloc(count ? count : 1, sizeof *sizes);
    if (sizes == NULL)
        return PyErr_NoMemory();
    PyObject *packed = NULL;
    for (Py_ssize_t number = 0; number < count; number++) {
        if (add_record(PyList_GetItem(records, number), offset, timestamp, &sizes[number], NULL) < 0)
            goto done;
        total += varint_size(sizes[number]) + sizes[number];
    }
    packed = PyBytes_FromStringAndSize(NULL, total);
    if (packed == NULL)
        goto done;
    char *at = PyBytes_AsString(packed);
    for (Py_ssize_t number = 0; number < count; number++) {
        at = put_varint(at, sizes[number]);
        add_record(PyList_GetItem(records, number), offset, timestamp, NULL, &at);
    }
done:
    PyMem_Free(sizes);
    return packed;
}

static PyMethodDef walk_methods[] = {
    {"feed", walk_feed, METH_O, "Takes the next bytes; returns the number of the problem, or 0."},
    {"finish", walk_finish, METH_NOARGS, "There are no more bytes; returns as `feed` does."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef walk_members[] = {
    {"records", T_LONGLONG, offsetof(Walk, records), READONLY, NULL},
    {"largest", T_LONGLONG, offsetof(Walk, largest), READONLY, NULL},
    {"problem", T_INT, offsetof(Walk, problem), READONLY, NULL},
    {"rejected_count", T_LONGLONG, offsetof(Walk, rejected_count), READONLY, NULL},
    {"rejected", T_OBJECT, offsetof(Walk, rejected), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot walk_slots[] = {
    {Py_tp_init, walk_init},
    {Py_tp_dealloc, walk_dealloc},
    {Py_tp_methods, walk_methods},
    {Py_tp_members, walk_members},
    {0, NULL},
};

static PyType_Spec walk_spec = {
    "broker.protocol._native.RecordWalk", sizeof(Walk), 0, Py_TPFLAGS_DEFAULT, walk_slots,
};

static PyMethodDef module_methods[] = {
    {"largest_delta", largest_delta, METH_VARARGS, "The largest timestamp delta, or None."},
    {"crc32c", extended_crc, METH_VARARGS, "The CRC-32C of a buffer, after that before it."},
    {"pack_records", pack_records, METH_VARARGS, "The records of a batch as bytes."},
    {"is_plain", is_plain_batch, METH_VARARGS, "Whether a batch may be stored as it came."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT, "_native", NULL, -1, module_methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void)
{
    set_up_crc();
    PyObject *module = PyModule_Create(&module_definition);
    PyObject *type = PyType_FromSpec(&walk_spec);
    if (module == NULL || type == NULL || PyModule_AddObject(module, "RecordWalk", type) < 0) {
        Py_XDECREF(module);
        Py_XDECREF(type);
        return NULL;
    }
    return module;
}

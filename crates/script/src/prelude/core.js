// The core of every script: errors with numbers, `console`, and guards for native functions that
// the limits of the engine do not stop.

// Scripts may replace every global, so the prelude keeps its own references.
const { Array, ArrayBuffer, Object, RangeError, String, TypeError } = globalThis;
const { stringify } = JSON;
const { construct, apply, getPrototypeOf } = globalThis.Reflect;

const ErrorCodes = Object.freeze({
    BadRequest: 400,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    PreconditionFailed: 412,
    RequestEntityTooLarge: 413,
    RetryWith: 449,
    InternalServerError: 500,
});

function define(target, name, value) {
    Object.defineProperty(target, name, { value, writable: true, configurable: true });
}

const NativeError = globalThis.Error;

// Adds `new Error(number, message)` to the standard `new Error(message)`.
const NumberedError = function Error(...args) {
    const numbered = args.length > 1 && typeof args[0] === 'number';
    const number = numbered ? args.shift() : undefined;
    const error = construct(NativeError, args, new.target || NumberedError);
    if (numbered) {
        error.number = number;
        error.body = error.message;
    }
    return error;
};
Object.defineProperty(NumberedError, 'prototype', {
    value: NativeError.prototype,
    writable: false,
});
Object.defineProperty(NumberedError, 'length', { value: 1, configurable: true });
Object.setPrototypeOf(NumberedError, NativeError);
define(NativeError.prototype, 'constructor', NumberedError);
define(globalThis, 'Error', NumberedError);

function fail(number, message) {
    throw new NumberedError(number, message);
}

// Limits of the array length, and of text length times pattern length, that one native call may
// process: the engine interrupts native functions only between calls. Longer calls first check
// whether the run may continue.
const NATIVE_LENGTH_MAX = 1e7;
const NATIVE_SEARCH_MAX = 1e10;
const NATIVE_LENGTH_LONG = 1e5;
const SHORT_LENGTH_MAX = 65536;
const NOT_THERE = -2;

function guard(prototype, names, check) {
    for (const name of names) {
        const native = prototype[name];
        if (native === undefined) {
            continue;
        }
        const guarded = { [name](...args) {
            check(this, args);
            return apply(native, this, args);
        } }[name];
        Object.defineProperty(guarded, 'length', { value: native.length, configurable: true });
        define(prototype, name, guarded);
    }
}

// The length that a native function will see. A getter or a proxy could report another length at
// the second access.
function lengthOf(value) {
    const length = native.ownLength(value);
    if (length >= 0) {
        return length;
    }
    if (ArrayBuffer.isView(value)) {
        return value.length;
    }
    if (length === NOT_THERE && !('length' in Object(value))) {
        return 0;
    }
    throw new RangeError('the object has no length of its own: make an array of it first');
}

function checkLength(length) {
    if (length > NATIVE_LENGTH_LONG) {
        native.check();
        if (length > NATIVE_LENGTH_MAX) {
            throw new RangeError('the array is too long for this function');
        }
    }
}

guard(Array.prototype, [
    'copyWithin', 'fill', 'join', 'reverse', 'shift', 'slice', 'splice', 'toLocaleString',
    'toReversed', 'toSpliced', 'unshift', 'with',
], (self, args) => {
    checkLength(lengthOf(self) + args.length);
});

guard(Array.prototype, ['concat'], (self, args) => {
    let length = lengthOf(self);
    for (let index = -1; index < args.length; index += 1) {
        const value = index < 0 ? self : args[index];
        if (value !== null && (typeof value === 'object' || typeof value === 'function')) {
            if (value[Symbol.isConcatSpreadable] !== undefined) {
                throw new TypeError("'concat' does not ask objects whether they are to be spread");
            }
            length += Array.isArray(value) ? lengthOf(value) : 1;
        }
    }
    checkLength(length);
});

// A comparison of long texts takes long. A comparison function gives the run points at which it can
// end.
function compareTexts(a, b) {
    a = `${a}`;
    b = `${b}`;
    return a < b ? -1 : a > b ? 1 : 0;
}

guard(Array.prototype, ['sort', 'toSorted'], (self, args) => {
    const length = lengthOf(self);
    checkLength(length);
    if (length > 1000 && args[0] === undefined) {
        args[0] = compareTexts;
    }
});

guard(Array.prototype, ['includes', 'indexOf', 'lastIndexOf'], (self, args) => {
    const pattern = args[0];
    if (typeof pattern === 'string' && pattern.length > 1000
        && lengthOf(self) * pattern.length > NATIVE_SEARCH_MAX) {
        throw new RangeError('the array is too long to search it for a long text');
    }
});

guard(getPrototypeOf(Uint8Array.prototype), [
    'includes', 'indexOf', 'lastIndexOf', 'sort', 'toSorted',
], (self) => {
    if (ArrayBuffer.isView(self) && self.length > NATIVE_LENGTH_LONG) {
        native.check();
    }
});

// Nested arrays may be long without elements, and one array may be referenced many times.
function flatten(from, into, depth) {
    const length = +from.length || 0;
    for (let index = 0; index < length; index += 1) {
        if (index in from) {
            const element = from[index];
            if (depth > 0 && Array.isArray(element)) {
                flatten(element, into, depth - 1);
            } else {
                into[into.length] = element;
            }
        }
    }
    return into;
}

function toObject(value) {
    if (value === null || value === undefined) {
        throw new TypeError('cannot convert to object');
    }
    return Object(value);
}

const flattenings = {
    flat(depth = 1) {
        return flatten(toObject(this), [], +depth || 0);
    },
    flatMap(callback, self = undefined) {
        const from = toObject(this);
        if (typeof callback !== 'function') {
            throw new TypeError('not a function');
        }
        const into = [];
        const length = +from.length || 0;
        for (let index = 0; index < length; index += 1) {
            if (index in from) {
                const element = apply(callback, self, [from[index], index, from]);
                if (Array.isArray(element)) {
                    flatten(element, into, 0);
                } else {
                    into[into.length] = element;
                }
            }
        }
        return into;
    },
};
define(Array.prototype, 'flat', flattenings.flat);
define(Array.prototype, 'flatMap', flattenings.flatMap);

guard(String.prototype, [
    'includes', 'indexOf', 'lastIndexOf', 'replace', 'replaceAll', 'split',
], (self, args) => {
    const pattern = args[0];
    if (typeof self === 'string' && typeof pattern === 'string'
        && self.length > NATIVE_LENGTH_LONG) {
        native.check();
        if (self.length * pattern.length > NATIVE_SEARCH_MAX) {
            throw new RangeError('the text is too long to search');
        }
    }
});

// A set may stay small while its iterator never ends.
const NativeSet = globalThis.Set;
const IteratedSet = function Set(values) {
    if (new.target === undefined) {
        throw new TypeError("class constructor of 'Set' needs 'new'");
    }
    const set = construct(NativeSet, [], new.target);
    if (values !== undefined && values !== null) {
        const { add } = set;
        for (const value of values) {
            apply(add, set, [value]);
        }
    }
    return set;
};

Object.defineProperty(IteratedSet, 'prototype', { value: NativeSet.prototype, writable: false });
Object.defineProperty(IteratedSet, 'length', { value: 0, configurable: true });
Object.defineProperty(IteratedSet, Symbol.species, { get() { return this; }, configurable: true });
define(NativeSet.prototype, 'constructor', IteratedSet);
define(globalThis, 'Set', IteratedSet);

// Operations on two sets have the same problem. They are newer than the JavaScript version that
// scripts are promised.
for (const name of ['difference', 'intersection', 'isDisjointFrom', 'isSubsetOf', 'isSupersetOf',
    'symmetricDifference', 'union']) {
    delete NativeSet.prototype[name];
}

// The engine writes JSON without interrupts, unless a function sees each value.
define(JSON, 'stringify', { stringify(value, replacer, space) {
    const isSeen = typeof replacer === 'function' || Array.isArray(replacer)
        || native.fits(value, SHORT_LENGTH_MAX) === true;
    return stringify(value, isSeen ? replacer : (name, value) => value, space);
} }.stringify);

// Iterators over iterators recurse in the engine without a check of its stack. They are newer than
// the JavaScript version that scripts are promised.
const { Iterator, Reflect } = globalThis;
delete globalThis.Iterator;
for (const name of Reflect.ownKeys(Iterator.prototype)) {
    if (name !== Symbol.iterator) {
        delete Iterator.prototype[name];
    }
}

// Scripts have no threads, and all code comes from the registered body.
delete globalThis.eval;
delete globalThis.Atomics;
delete globalThis.SharedArrayBuffer;
delete globalThis.queueMicrotask;
delete globalThis.navigator;
delete globalThis.performance;

function textOf(value) {
    if (typeof value === 'string') {
        return value;
    }
    if (value !== null && typeof value === 'object') {
        return stringify(value);
    }
    return String(value);
}

// The JSON text of a value; a text that would exceed the limit is not made.
function jsonOf(what, value) {
    if (native.fits(value, native.jsonLengthMax) === false) {
        fail(ErrorCodes.RequestEntityTooLarge,
            `${what} has more characters of JSON than the limit of ${native.jsonLengthMax}.`);
    }
    return stringify(value);
}

function failLog() {
    fail(ErrorCodes.RequestEntityTooLarge,
        `The log is longer than its limit of ${native.logLengthMax} characters.`);
}

function logTextOf(value) {
    return native.fits(value, native.logLengthMax) === false ? failLog() : textOf(value);
}

function logText(args) {
    if (args.length === 0) {
        fail(ErrorCodes.BadRequest, "The function 'log' requires at least 1 argument.");
    }
    if (args.length === 1) {
        return logTextOf(args[0]);
    }
    const [format, ...values] = args;
    if (typeof format !== 'string') {
        fail(ErrorCodes.BadRequest,
            "The first of several arguments of 'log' must be a format string.");
    }
    return format.replace(/%[s%]/g, (mark) => {
        if (mark === '%%') {
            return '%';
        }
        return values.length > 0 ? logTextOf(values.shift()) : mark;
    });
}

function log(...args) {
    if (native.logging() && !native.log(logText(args))) {
        failLog();
    }
}

define(globalThis, 'console', Object.freeze({ log }));
define(globalThis, 'ErrorCodes', ErrorCodes);

return { ErrorCodes, NumberedError, define, fail, jsonOf, stringify, textOf };

// What every script has: errors with numbers, `console`, and a guard on the natives that the
// limits of the engine do not reach.

// The prelude must work whatever a script does to the globals.
const { Object, RangeError, String } = globalThis;
const { stringify } = JSON;
const { construct, apply } = globalThis.Reflect;

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

// `new Error(number, message)` beside the standard `new Error(message)`.
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

// Longest array, and longest product of text and pattern, that one native call may walk: natives
// are interrupted only between calls.
const NATIVE_LENGTH_MAX = 1e7;
const NATIVE_SEARCH_MAX = 1e10;

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

function checkLength(value) {
    if (value !== null && typeof value === 'object' && value.length > NATIVE_LENGTH_MAX) {
        throw new RangeError('the array is too long for this function');
    }
}

guard(Array.prototype, [
    'concat', 'copyWithin', 'fill', 'flat', 'flatMap', 'join', 'reverse', 'shift', 'slice', 'sort',
    'splice', 'toLocaleString', 'toReversed', 'toSorted', 'toSpliced', 'unshift', 'with',
], (self, args) => {
    checkLength(self);
    for (let index = 0; index < args.length; index += 1) {
        checkLength(args[index]);
    }
});

guard(String.prototype, [
    'includes', 'indexOf', 'lastIndexOf', 'replace', 'replaceAll', 'split',
], (self, args) => {
    const pattern = args[0];
    if (typeof self === 'string' && typeof pattern === 'string'
        && self.length * pattern.length > NATIVE_SEARCH_MAX) {
        throw new RangeError('the text is too long to search');
    }
});

// Iterators that are made of iterators call each other in the engine without a look at its stack.
// They are younger than the language that scripts are promised.
const { Iterator, Reflect } = globalThis;
delete globalThis.Iterator;
for (const name of Reflect.ownKeys(Iterator.prototype)) {
    if (name !== Symbol.iterator) {
        delete Iterator.prototype[name];
    }
}

// Threads do not exist here, and code comes only from the registered body.
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

function logText(args) {
    if (args.length === 0) {
        fail(ErrorCodes.BadRequest, "The function 'log' requires at least 1 argument.");
    }
    if (args.length === 1) {
        return textOf(args[0]);
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
        return values.length > 0 ? textOf(values.shift()) : mark;
    });
}

function log(...args) {
    if (native.logging() && !native.log(logText(args))) {
        fail(ErrorCodes.RequestEntityTooLarge,
            `The log is longer than its limit of ${native.logLengthMax} characters.`);
    }
}

define(globalThis, 'console', Object.freeze({ log }));
define(globalThis, 'ErrorCodes', ErrorCodes);

return { ErrorCodes, NumberedError, define, fail, stringify, textOf };

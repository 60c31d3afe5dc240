// The collection object: its operations run callbacks one at a time, after the present function.

const callbacks = [];

function requireArguments(name, args, required) {
    if (args.length < required) {
        fail(ErrorCodes.BadRequest,
            `The function '${name}' requires at least ${required} arguments, `
            + `but ${args.length} were given.`);
    }
}

function requireCallback(callback) {
    if (callback !== undefined && callback !== null && typeof callback !== 'function') {
        fail(ErrorCodes.BadRequest, "The 'callback' parameter must be a function.");
    }
}

// Replaces missing options. The object inherits nothing, so that reading it runs no script code.
const NO_OPTIONS = Object.freeze({ __proto__: null });

// A call may pass the callback in place of the options.
function callbackOf(options, callback) {
    if (typeof options === 'function' && callback === undefined) {
        return options;
    }
    requireCallback(callback);
    return callback;
}

function optionsOf(options, callback) {
    if (options === undefined || options === null
        || (typeof options === 'function' && callback === undefined)) {
        return NO_OPTIONS;
    }
    if (typeof options !== 'object') {
        fail(ErrorCodes.BadRequest, "The 'options' parameter must be an object.");
    }
    return options;
}

function optionsAndCallback(options, callback) {
    const called = callbackOf(options, callback);
    return [optionsOf(options, callback), called];
}

function requireText(name, value) {
    if (typeof value !== 'string') {
        fail(ErrorCodes.BadRequest, `The '${name}' parameter must be a string.`);
    }
    return value;
}

function optionText(options, name) {
    const value = options[name];
    return value === undefined || value === null ? undefined : requireText(`options.${name}`, value);
}

function failureOf(outcome) {
    return new NumberedError(outcome.number, outcome.body);
}

// Queues the callback of an operation. An operation that was not accepted has no outcome.
function answered(callback, outcome) {
    if (outcome === undefined) {
        return false;
    }
    if (outcome.number !== undefined) {
        const error = failureOf(outcome);
        callbacks.push(callback ? () => callback(error, undefined, {}) : () => { throw error; });
    } else if (callback) {
        callbacks.push(() => callback(undefined, outcome.resource, outcome.options));
    }
    return true;
}

// The result of a deletion has no resource.
function deleted(callback) {
    return callback && ((error, _, options) => (error
        ? callback(error, undefined, options)
        : callback(undefined, options)));
}

function pageOptions(options) {
    const size = options.pageSize;
    if (size !== undefined && size !== null && !Number.isInteger(size)) {
        fail(ErrorCodes.BadRequest, "The 'options.pageSize' parameter must be an integer.");
    }
    return {
        pageSize: size ?? PAGE_SIZE,
        continuation: optionText(options, 'continuation') || undefined,
        enableScan: options.enableScan === true,
        enableLowPrecisionOrderBy: options.enableLowPrecisionOrderBy === true,
    };
}

const PAGE_SIZE = 100;
const INDEX_ACTIONS = ['default', 'include', 'exclude'];

function writeOptions(options) {
    if (options === NO_OPTIONS) {
        return undefined;
    }
    const action = optionText(options, 'indexAction')?.toLowerCase() ?? 'default';
    if (!INDEX_ACTIONS.includes(action)) {
        fail(ErrorCodes.BadRequest,
            "The 'options.indexAction' parameter must be 'default', 'include' or 'exclude'.");
    }
    return { indexAction: action, etag: optionText(options, 'etag') };
}

function requireBody(body) {
    if (typeof body !== 'string' && (body === null || typeof body !== 'object')) {
        fail(ErrorCodes.BadRequest, "The 'body' parameter must be an object or JSON text.");
    }
}

// The body in the form that the native functions expect. Reading the options may run script code,
// which must not change the body afterwards: in this case the body becomes text at once. Otherwise
// the native function reads the object.
function given(body, options) {
    return typeof body === 'string' || options === NO_OPTIONS
        ? body : jsonOf('The document', body);
}

// A new document. A missing id is added to a copy, never to the caller's object.
function newDocument(body, options) {
    requireBody(body);
    if (options.disableAutomaticIdGeneration === true) {
        return body;
    }
    let document = body;
    if (typeof body === 'string') {
        try {
            document = parse(body);
        } catch (_) {
            fail(ErrorCodes.BadRequest, "The 'body' parameter is not valid JSON.");
        }
        if (document === null || typeof document !== 'object') {
            fail(ErrorCodes.BadRequest, "The 'body' parameter must be a JSON object.");
        }
    }
    if (isArray(document)) {
        return body;
    }
    const { id } = document;
    return id === undefined || id === null || id === '' ? { ...document, id: native.newId() } : body;
}

function querySpec(query) {
    if (typeof query === 'string') {
        return jsonOf('The query', { query, parameters: [] });
    }
    if (query === null || typeof query !== 'object' || typeof query.query !== 'string') {
        fail(ErrorCodes.BadRequest,
            "The 'filterQuery' parameter must be a string or an object with a 'query' string.");
    }
    const parameters = query.parameters ?? [];
    if (!isArray(parameters)) {
        fail(ErrorCodes.BadRequest, "The 'parameters' of a query must be an array.");
    }
    return jsonOf('The query', { query: query.query, parameters });
}

const collectionMethods = {
    getSelfLink() {
        return native.selfLink();
    },

    getAltLink() {
        return native.altLink();
    },

    readDocument(link, options, callback) {
        requireArguments('readDocument', arguments, 1);
        [options, callback] = optionsAndCallback(options, callback);
        requireText('documentLink', link);
        const ifNoneMatch = optionText(options, 'ifNoneMatch');
        return native.accepted() && answered(callback, native.read(link, ifNoneMatch));
    },

    readDocuments(link, options, callback) {
        requireArguments('readDocuments', arguments, 1);
        [options, callback] = optionsAndCallback(options, callback);
        requireText('collectionLink', link);
        const page = pageOptions(options);
        return native.accepted() && answered(callback, native.feed(link, page));
    },

    queryDocuments(link, query, options, callback) {
        requireArguments('queryDocuments', arguments, 2);
        [options, callback] = optionsAndCallback(options, callback);
        requireText('collectionLink', link);
        const spec = querySpec(query);
        const page = pageOptions(options);
        return native.accepted() && answered(callback, native.query(link, spec, page));
    },

    createDocument(link, body, options, callback) {
        requireArguments('createDocument', arguments, 2);
        const called = callbackOf(options, callback);
        const chosen = optionsOf(options, callback);
        requireText('collectionLink', link);
        const document = given(newDocument(body, chosen), chosen);
        return answered(called, native.create(link, document, writeOptions(chosen)));
    },

    upsertDocument(link, body, options, callback) {
        requireArguments('upsertDocument', arguments, 2);
        const called = callbackOf(options, callback);
        const chosen = optionsOf(options, callback);
        requireText('collectionLink', link);
        const document = given(newDocument(body, chosen), chosen);
        return answered(called, native.upsert(link, document, writeOptions(chosen)));
    },

    replaceDocument(link, document, options, callback) {
        requireArguments('replaceDocument', arguments, 2);
        const called = callbackOf(options, callback);
        const chosen = optionsOf(options, callback);
        requireText('documentLink', link);
        requireBody(document);
        const body = given(document, chosen);
        return answered(called, native.replace(link, body, writeOptions(chosen)));
    },

    deleteDocument(link, options, callback) {
        requireArguments('deleteDocument', arguments, 1);
        const called = callbackOf(options, callback);
        const chosen = optionsOf(options, callback);
        requireText('documentLink', link);
        return answered(deleted(called), native.delete(link, writeOptions(chosen)));
    },
};

for (const name of ['readAttachment', 'readAttachments', 'queryAttachments', 'createAttachment',
    'upsertAttachment', 'replaceAttachment', 'deleteAttachment']) {
    collectionMethods[name] = () => fail(ErrorCodes.BadRequest,
        `Attachments are not supported: '${name}' is not available.`);
}

// Few scripts use the query functions, so the first use loads them.
let loadedQueries;

function queries() {
    if (loadedQueries === undefined) {
        loadedQueries = native.queries()(native, core, {
            callbacks, failureOf, optionsAndCallback, pageOptions, requireArguments,
            response: () => response,
        });
    }
    return loadedQueries;
}

for (const name of ['filter', 'map', 'pluck', 'flatten', 'sortBy', 'sortByDescending', 'unwind',
    'chain']) {
    collectionMethods[name] = (...args) => queries()[name](...args);
}
Object.defineProperty(collectionMethods, 'spatial', {
    enumerable: true,
    configurable: true,
    get: () => queries().spatial,
});

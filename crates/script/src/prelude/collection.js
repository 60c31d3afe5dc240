// The collection: operations with callbacks that run, one at a time, after the current function.

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

// The callback may stand in the place of the options.
function optionsAndCallback(options, callback) {
    if (typeof options === 'function' && callback === undefined) {
        return [{}, options];
    }
    requireCallback(callback);
    if (options === undefined || options === null) {
        return [{}, callback];
    }
    if (typeof options !== 'object') {
        fail(ErrorCodes.BadRequest, "The 'options' parameter must be an object.");
    }
    return [options, callback];
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

// Runs an operation, if it is accepted, and puts its callback in the queue.
function operate(callback, operation, callbackArguments) {
    if (!native.accepted()) {
        return false;
    }
    const outcome = operation();
    if (outcome.number !== undefined) {
        const error = failureOf(outcome);
        callbacks.push(callback ? () => callback(error, undefined, {}) : () => { throw error; });
    } else if (callback) {
        callbacks.push(() => callback(undefined, ...callbackArguments(outcome)));
    }
    return true;
}

const resourceAndOptions = (outcome) => [outcome.resource, outcome.options];
const optionsOnly = (outcome) => [outcome.options];

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

function bodyText(body) {
    requireBody(body);
    return typeof body === 'string' ? body : stringify(body);
}

// The text of a new document; a missing id is made up on a copy, never on the caller's object.
function newDocumentText(body, options) {
    requireBody(body);
    if (options.disableAutomaticIdGeneration === true) {
        return bodyText(body);
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
    if (isArray(document) || (document.id !== undefined && document.id !== null
        && document.id !== '')) {
        return bodyText(body);
    }
    return stringify({ ...document, id: native.newId() });
}

function querySpec(query) {
    if (typeof query === 'string') {
        return stringify({ query, parameters: [] });
    }
    if (query === null || typeof query !== 'object' || typeof query.query !== 'string') {
        fail(ErrorCodes.BadRequest,
            "The 'filterQuery' parameter must be a string or an object with a 'query' string.");
    }
    const parameters = query.parameters ?? [];
    if (!isArray(parameters)) {
        fail(ErrorCodes.BadRequest, "The 'parameters' of a query must be an array.");
    }
    return stringify({ query: query.query, parameters });
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
        return operate(callback, () => native.read(link, ifNoneMatch), resourceAndOptions);
    },

    readDocuments(link, options, callback) {
        requireArguments('readDocuments', arguments, 1);
        [options, callback] = optionsAndCallback(options, callback);
        requireText('collectionLink', link);
        const page = pageOptions(options);
        return operate(callback, () => native.feed(link, page), resourceAndOptions);
    },

    queryDocuments(link, query, options, callback) {
        requireArguments('queryDocuments', arguments, 2);
        [options, callback] = optionsAndCallback(options, callback);
        requireText('collectionLink', link);
        const spec = querySpec(query);
        const page = pageOptions(options);
        return operate(callback, () => native.query(link, spec, page), resourceAndOptions);
    },

    createDocument(link, body, options, callback) {
        requireArguments('createDocument', arguments, 2);
        [options, callback] = optionsAndCallback(options, callback);
        requireText('collectionLink', link);
        const text = newDocumentText(body, options);
        const write = writeOptions(options);
        return operate(callback, () => native.create(link, text, write), resourceAndOptions);
    },

    upsertDocument(link, body, options, callback) {
        requireArguments('upsertDocument', arguments, 2);
        [options, callback] = optionsAndCallback(options, callback);
        requireText('collectionLink', link);
        const text = newDocumentText(body, options);
        const write = writeOptions(options);
        return operate(callback, () => native.upsert(link, text, write), resourceAndOptions);
    },

    replaceDocument(link, document, options, callback) {
        requireArguments('replaceDocument', arguments, 2);
        [options, callback] = optionsAndCallback(options, callback);
        requireText('documentLink', link);
        const text = bodyText(document);
        const write = writeOptions(options);
        return operate(callback, () => native.replace(link, text, write), resourceAndOptions);
    },

    deleteDocument(link, options, callback) {
        requireArguments('deleteDocument', arguments, 1);
        [options, callback] = optionsAndCallback(options, callback);
        requireText('documentLink', link);
        const write = writeOptions(options);
        return operate(callback, () => native.delete(link, write), optionsOnly);
    },
};

for (const name of ['readAttachment', 'readAttachments', 'queryAttachments', 'createAttachment',
    'upsertAttachment', 'replaceAttachment', 'deleteAttachment']) {
    collectionMethods[name] = () => fail(ErrorCodes.BadRequest,
        `Attachments are not supported: '${name}' is not available.`);
}

// The query functions are many and few scripts use them: they are loaded when one does.
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

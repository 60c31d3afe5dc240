// The query functions of `__`: a pipeline of stages over the documents of the collection.
//
// Stages run in JavaScript over the document feed. A page of results reads as many document pages
// as it needs, so its continuation is that of the feed. A sort needs all documents at once; its
// continuation is the number of returned results.

const { Math, Number, Object, String } = globalThis;
const { isArray } = Array;
const { ErrorCodes, define, fail, jsonOf, stringify } = core;
const { callbacks, failureOf, optionsAndCallback, pageOptions, requireArguments } = collection;

const TYPE_ORDER = ['undefined', 'null', 'boolean', 'number', 'string', 'array', 'object'];

function typeRank(value) {
    const type = value === null ? 'null' : isArray(value) ? 'array' : typeof value;
    return TYPE_ORDER.indexOf(type);
}

function compareKeys(a, b) {
    const ranks = typeRank(a) - typeRank(b);
    if (ranks !== 0) {
        return ranks;
    }
    if (a !== null && typeof a === 'object') {
        a = stringify(a);
        b = stringify(b);
    }
    return a < b ? -1 : a > b ? 1 : 0;
}

function sorted(values, key, direction) {
    return values
        .map((value) => ({ value, key: key(value) }))
        .sort((a, b) => direction * compareKeys(a.key, b.key))
        .map((entry) => entry.value);
}

function flattened(values, isShallow) {
    const out = [];
    for (const value of values) {
        if (!isArray(value)) {
            out.push(value);
            continue;
        }
        for (const inner of isShallow ? value : flattened(value, false)) {
            out.push(inner);
        }
    }
    return out;
}

const isDefined = (value) => value !== undefined;

function requireFunction(name, parameter, value) {
    if (typeof value !== 'function') {
        fail(ErrorCodes.BadRequest, `The '${parameter}' parameter of '${name}' must be a function.`);
    }
}

// Each function reads its own arguments, and returns the stage and the remaining arguments.
const stages = {
    filter([predicate, ...rest]) {
        requireFunction('filter', 'predicate', predicate);
        return [{ run: (values) => values.filter((value) => predicate(value)) }, rest];
    },

    map([transformation, ...rest]) {
        requireFunction('map', 'transformation', transformation);
        const run = (values) => values.map((value) => transformation(value)).filter(isDefined);
        return [{ run }, rest];
    },

    pluck([name, ...rest]) {
        if (typeof name !== 'string' || name === '') {
            fail(ErrorCodes.BadRequest,
                "The 'propertyName' parameter of 'pluck' must be a string that is not empty.");
        }
        const run = (values) => values.map((value) => value?.[name]).filter(isDefined);
        return [{ run }, rest];
    },

    flatten(args) {
        const given = typeof args[0] === 'boolean';
        const isShallow = given && args[0];
        return [{ run: (values) => flattened(values, isShallow) }, given ? args.slice(1) : args];
    },

    sortBy([key, ...rest]) {
        requireFunction('sortBy', 'predicate', key);
        return [{ run: (values) => sorted(values, key, 1), blocking: true }, rest];
    },

    sortByDescending([key, ...rest]) {
        requireFunction('sortByDescending', 'predicate', key);
        return [{ run: (values) => sorted(values, key, -1), blocking: true }, rest];
    },

    unwind([select, ...rest]) {
        requireFunction('unwind', 'collectionSelector', select);
        if (select.length !== 1) {
            fail(ErrorCodes.BadRequest,
                "The 'collectionSelector' parameter of 'unwind' must have exactly 1 parameter.");
        }
        let result;
        if (typeof rest[0] === 'function') {
            result = rest.shift();
            if (result.length < 2) {
                fail(ErrorCodes.BadRequest,
                    "The 'resultSelector' parameter of 'unwind' must have at least 2 parameters.");
            }
        }
        const run = (values) => {
            if (result === undefined) {
                return flattened(values.map((value) => select(value)).filter(isDefined), false);
            }
            const out = [];
            for (const value of values) {
                const inner = select(value);
                for (const element of isArray(inner) ? inner : []) {
                    const joined = result(value, element);
                    if (joined !== undefined) {
                        out.push(joined);
                    }
                }
            }
            return out;
        };
        return [{ run }, rest];
    },
};

function feedPage(link, pageSize, continuation) {
    const outcome = native.feed(link, { pageSize, continuation });
    if (outcome.number !== undefined) {
        throw failureOf(outcome);
    }
    return outcome;
}

function runStages(pipeline, values) {
    return pipeline.reduce((current, stage) => stage.run(current), values);
}

function runStreaming(link, pipeline, page) {
    const results = [];
    let { continuation } = page;
    let options;
    do {
        const wanted = page.pageSize < 0 ? -1 : Math.max(page.pageSize - results.length, 1);
        const feed = feedPage(link, wanted, continuation);
        for (const value of runStages(pipeline, feed.resource)) {
            results.push(value);
        }
        options = feed.options;
        continuation = options.continuation;
    } while (continuation && (page.pageSize < 0 || results.length < page.pageSize)
        && native.accepted());
    return { results, options };
}

function runBlocking(link, pipeline, page) {
    const documents = [];
    let continuation;
    let options;
    do {
        const feed = feedPage(link, -1, continuation);
        for (const document of feed.resource) {
            documents.push(document);
        }
        options = feed.options;
        continuation = options.continuation;
    } while (continuation && native.accepted());
    if (continuation) {
        fail(ErrorCodes.RequestEntityTooLarge,
            'The documents are too many to be sorted within the limits of one run.');
    }
    const from = Number(page.continuation ?? 0) || 0;
    const all = runStages(pipeline, documents);
    const end = page.pageSize < 0 ? all.length : from + page.pageSize;
    const more = end < all.length ? String(end) : undefined;
    return { results: all.slice(from, end), options: { ...options, continuation: more } };
}

// Without a callback the results are set as the response body, or appended to it.
function respondWith(results) {
    const response = collection.response();
    if (response.getBody() === undefined) {
        response.setBody(results);
    } else {
        response.appendBody(stringify(results));
    }
}

function runPipeline(link, pipeline, options, callback) {
    if (callback === undefined && collection.response() === undefined) {
        fail(ErrorCodes.BadRequest, 'A callback is required here, because there is no response.');
    }
    if (!native.accepted()) {
        return false;
    }
    const run = pipeline.some((stage) => stage.blocking) ? runBlocking : runStreaming;
    const page = pageOptions(options);
    try {
        const outcome = run(link, pipeline, page);
        callbacks.push(callback
            ? () => callback(undefined, outcome.results, outcome.options)
            : () => respondWith(outcome.results));
    } catch (error) {
        if (!callback) {
            throw error;
        }
        callbacks.push(() => callback(error, undefined, {}));
    }
    return true;
}

class QueryResponse {
    constructor(isAccepted) {
        this.isAccepted = isAccepted;
    }
}

class Chain {
    #link;
    #pipeline = [];

    constructor(link) {
        this.#link = link;
        this.isAccepted = true;
    }

    value(options, callback) {
        [options, callback] = optionsAndCallback(options, callback);
        return new QueryResponse(
            runPipeline(this.#link, this.#pipeline, options, callback ?? undefined));
    }

    static add(chain, name, args) {
        const [stage, rest] = stages[name](args);
        if (typeof rest[0] === 'function' || typeof rest[1] === 'function') {
            fail(ErrorCodes.BadRequest,
                `A callback of '${name}' inside a chain is not allowed: give it to 'value'.`);
        }
        if (rest[0] !== undefined && rest[0] !== null) {
            fail(ErrorCodes.BadRequest,
                `Options of '${name}' inside a chain are not allowed: give them to 'value'.`);
        }
        chain.#pipeline.push(stage);
        return chain;
    }
}

// The collection link is optional.
function linkAndRest(args) {
    const given = typeof args[0] === 'string' && native.isCollectionLink(args[0]);
    return given ? [args[0], args.slice(1)] : [native.selfLink(), args];
}

const methods = {};

for (const name of Object.keys(stages)) {
    methods[name] = function (...args) {
        const [link, own] = linkAndRest(args);
        const [stage, rest] = stages[name](own);
        const [options, callback] = optionsAndCallback(rest[0], rest[1]);
        return new QueryResponse(runPipeline(link, [stage], options, callback ?? undefined));
    };
    define(Chain.prototype, name, function (...args) {
        return Chain.add(this, name, args);
    });
}

methods.chain = (link) => new Chain(link ?? native.selfLink());

function geometry(value) {
    if (value === null || typeof value !== 'object') {
        fail(ErrorCodes.BadRequest, 'The argument of a spatial function must be a GeoJSON object.');
    }
    return jsonOf('The geometry', value);
}

function spatial(name, count) {
    return (...args) => {
        requireArguments(name, args, count);
        const outcome = native.spatial(name, args.slice(0, count).map(geometry));
        if (outcome.number !== undefined) {
            throw failureOf(outcome);
        }
        return outcome.resource;
    };
}

methods.spatial = {
    distance: spatial('distance', 2),
    intersects: spatial('intersects', 2),
    within: spatial('within', 2),
    isValid: spatial('isValid', 1),
    isValidDetailed: spatial('isValidDetailed', 1),
};

return methods;

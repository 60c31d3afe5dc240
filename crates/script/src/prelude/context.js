// The context of a run, `getContext()` and `__`, and the functions by which the sandbox drives a
// run.

const MESSAGE_LENGTH_MAX = native.responseLengthMax;

let callbacksDone = 0;
let request;
let response;

function abort(error) {
    const thrown = error !== null && typeof error === 'object'
        ? error
        : new NumberedError(error === undefined ? 'The script was aborted.' : String(error));
    native.abort(thrown);
    throw thrown;
}

// Headers are [name, value], properties are [name, value, writable]. A pre-trigger has no response.
function begin(headers, requestProperties, responseProperties) {
    request = new Message(headers, requestProperties, MESSAGE_LENGTH_MAX);
    const proxied = Object.create(collectionMethods);
    define(collectionMethods, 'proxy', () => proxied);
    const context = {
        getCollection: () => collectionMethods,
        getRequest: () => request,
        abort,
    };
    proxied.request = request;
    if (responseProperties !== undefined) {
        response = new Message([], responseProperties, MESSAGE_LENGTH_MAX);
        context.getResponse = () => response;
        proxied.response = response;
    }
    define(globalThis, 'getContext', () => context);
    define(globalThis, '__', proxied);
}

// Runs the next callback; returns false when no callback waits.
function next() {
    const callback = callbacks[callbacksDone];
    if (callback === undefined) {
        return false;
    }
    callbacks[callbacksDone] = undefined;
    callbacksDone += 1;
    callback();
    return true;
}

function finish() {
    return [Message.textOfChanged(response, 'body'), Message.textOfChanged(request, 'body')];
}

return { begin, next, finish };

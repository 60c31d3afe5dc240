function () {
    __.response.setBody({
        context: Object.keys(getContext()).sort(),
        same: [Object.getPrototypeOf(__) === getContext().getCollection(), __.request === getContext().getRequest(),
            __.response === getContext().getResponse()],
        links: [__.getSelfLink(), __.getAltLink()],
        absent: ['setTimeout', 'setInterval', 'eval', 'require', 'process', 'Atomics', 'SharedArrayBuffer',
            'fetch', 'std', 'os', 'print', 'load', 'Deno', 'XMLHttpRequest', 'WebAssembly', 'performance', 'queueMicrotask', 'native']
            .filter(function (name) { return name in globalThis; }),
        proxy: Object.keys(getContext().getCollection()).indexOf('proxy'),
        date: typeof Date.now(),
        sloppy: (function () { return this === globalThis; })(),
    });
}

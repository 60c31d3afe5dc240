// {"kind": "pre", "operation": "Delete"}
function () {
    var request = getContext().getRequest();
    if (request.getBody() !== undefined) throw new Error('a body');
    throw new Error(request.getOperationType());
}

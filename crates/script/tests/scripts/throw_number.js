function () {
    throw new Error(ErrorCodes.Forbidden, 'not yours');
}

//! How a function takes all of its arguments, and how a program names many tools. Read by the
//! macros; nothing here is called by a server.

/// All arguments of a tool as one struct, which derives `Deserialize` and `JsonSchema`, by
/// [`json`](macro@crate::json) or of one's own.
///
/// ```
/// #[haft::json]
/// struct Point { x: f64, y: f64 }
///
/// /// How far a point is from the origin.
/// #[haft::tool]
/// fn length(haft::Args(point): haft::Args<Point>) -> f64 {
///     point.x.hypot(point.y)
/// }
/// # let _ = length::tool();
/// # assert_eq!(length(haft::Args(Point { x: 3.0, y: 4.0 })), 5.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Args<T>(pub T);

/// The tools of functions with [`tool`](macro@crate::tool): `tools![hello, greetings::goodbye]`.
///
/// ```
/// #[haft::tool]
/// fn add(a: i64, b: i64) -> i64 { a + b }
/// #[haft::tool]
/// fn negate(a: i64) -> i64 { -a }
///
/// let server = haft::server("calculator", "1.0.0").tools(haft::tools![add, negate]).build()?;
/// assert_eq!(server.tool_names(), ["add", "negate"]);
/// # Ok::<(), haft::BuildError>(())
/// ```
#[macro_export]
macro_rules! tools {
    ($($function:path),* $(,)?) => {
        [$(<$function>::tool()),*]
    };
}
